// A network with forks, a residual block and a concatenation: the integers that were trained, those
// of the interpreter, of the file that was written and read again, and of the C source are one.

#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/examples/residual_mlp.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/runtime/naive.h>
#include <octet/train/layer_differences.h>

namespace octet::test::residual_mlp_test {
namespace {

constexpr Index kPixels = 784;
/// Codes of one image: the input and its flat view, four layers of 256, two branches of 64 and
/// both together, ten logits and their softmax.
constexpr std::size_t kCodes = 2 * kPixels + 4 * 256 + 2 * 64 + 128 + 2 * 10;

struct Trained {
  Model model;
  double accuracy = 0.0;
};

/// One epoch in float and one in integers.
Trained train(const Dataset& train, const Dataset& test, Rounding rounding) {
  Model model = residual_mlp(train.example_shape(), static_cast<Index>(train.classes()));
  Trainer(model, Adam()).fit(train, 1);
  Trained result{quantize_model(model, {.rounding = rounding})};
  Trainer trainer(result.model, Adam(1e-4F));
  trainer.fit(train, 1);
  result.accuracy = trainer.evaluate(test).accuracy;
  return result;
}

void expect_same_at_every_layer(const Model& trained, const IntegerModel& shipped,
                                const Dataset& images) {
  const NetworkDifference difference = compare_networks(trained, shipped, images);
  EXPECT_EQ(difference.layers.size(), 11U);
  EXPECT_EQ(difference.total().compared, images.size() * kCodes);
  for (const LayerDifference& layer : difference.layers) {
    EXPECT_EQ(layer.differing, 0U) << layer.name << " of " << layer.compared;
  }
}

/// Expects that the comparison can fail: the same file under another rounding mode differs.
void expect_other_contract_differs(const Model& trained, const IntegerModel& shipped,
                                   const Dataset& images) {
  SimulatedCodes a(trained);
  const bool twice = a.rounding() == Rounding::double_rounding;
  InterpretedCodes b(shipped, {.rounding = twice ? Rounding::fp32 : Rounding::double_rounding});
  EXPECT_GT(compare_networks(a, b, images).total().differing, 0U);
}

using ResidualMlp = CompiledC;

/// The test images' first 1000 by the C source.
void expect_same_in_c(std::vector<CCase> cases) {
  const std::size_t images = cases[0].inputs.size() / kPixels;
  const std::size_t count = cases.size();
  const CDriver driver(std::move(cases));
  EXPECT_EQ(driver.output_bytes(), count * images * 10);
  for (const std::string& compiler : c_compilers()) {
    EXPECT_EQ(driver.differing(compiler, joined(kStrict, {"-std=c99", "-O2"})), 0U);
  }
}

/// Contract fp32 on all of `data`, the others on `few` images to train on and to compare.
void expect_one_network(const DataSplit& data, std::size_t few, double least_accuracy) {
  std::vector<CCase> cases;
  for (const Rounding rounding : kContracts) {
    SCOPED_TRACE(to_string(rounding));
    const bool all = rounding == Rounding::fp32;
    const Dataset images = all ? data.test : data.test.head(few);
    const Trained trained = train(all ? data.train : data.train.head(few), images, rounding);
    EXPECT_GT(trained.accuracy, least_accuracy);
    const IntegerModel lowered = lower(trained.model);
    const IntegerModel reread = from_tflite(to_tflite(lowered));
    expect_same_at_every_layer(trained.model, lowered, images);
    expect_same_at_every_layer(trained.model, reread, images);
    expect_other_contract_differs(trained.model, reread, images);
    const Tensor first = images.features(0, std::min<std::size_t>(images.size(), 1000));
    cases.push_back({reread, rounding, quantized_codes(reread, first.span(), rounding)});
  }
  expect_same_in_c(std::move(cases));
}

TEST_F(ResidualMlp, IsOneNetworkOnDrawnDigits) {
  expect_one_network(make_digits(0, 6000, 1000), 3000, 0.7);
}

TEST_F(ResidualMlp, IsOneNetworkOnAllOfMnist) {
  const char* folder = std::getenv("OCTET_MNIST_DIR");
  if (folder == nullptr || *folder == '\0') GTEST_SKIP() << "OCTET_MNIST_DIR is not set";
  const DataSplit data = load_idx(folder);
  EXPECT_EQ(data.test.size(), 10000U);
  expect_one_network(data, 6000, 0.85);
}

}  // namespace
}  // namespace octet::test::residual_mlp_test
