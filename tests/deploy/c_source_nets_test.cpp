// The C source and the interpreter, byte for byte: random nets and graphs, and all of MNIST's test
// images.

#include <octet/layers/layers.h>
#include <octet/layers/lower.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/core/random_networks.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/deploy/drawn_networks.h>
#include <octet/tests/layers/quantize/random_convolutions.h>
#include <octet/tests/layers/quantize/random_graphs.h>
#include <octet/tests/layers/quantize/random_nets.h>
#include <octet/tests/layers/quantize/random_sequences.h>
#include <octet/tests/layers/quantize/random_streams.h>
#include <octet/train/data/digits.h>
#include <octet/train/data/idx.h>
#include <octet/train/trainer.h>

namespace octet::test::c_source_nets_test {
namespace {

using CSourceNets = CompiledC;
class CSourceRandomNets : public CSourceNets, public ::testing::WithParamInterface<Rounding> {
 protected:
  /// By one compiler per contract: that many layers take a while. The other tests have both.
  static void expect_equal(const CDriver& driver) {
    const Words compilers = c_compilers();
    const std::size_t turn = static_cast<std::size_t>(GetParam()) % compilers.size();
    EXPECT_EQ(driver.differing(compilers[turn], joined(kStrict, {"-std=c99", "-O0"})), 0U);
  }
};

TEST_P(CSourceRandomNets, EqualTheInterpreter) {
  std::vector<CCase> cases;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    octet::test::RandomNet net(seed);
    Sequential model = quantize_model(net.model(), net.options(GetParam()));
    calibrate(model, net.batch(9));
    octet::test::train_a_little(model, net, 3);
    const IntegerModel lowered = lower(model);
    cases.push_back({lowered, GetParam(), random_codes(lowered, 25, seed)});
  }
  const CDriver driver(std::move(cases));
  EXPECT_GT(driver.output_bytes(), 50000U);
  expect_equal(driver);
}

/// A GRU over so many steps, and a layer that the network uses twice.
IntegerModel over_steps(Index steps, Rounding rounding) {
  Model model("gru");
  const Value states = model.add(GRU(6, {.return_sequences = true}), model.input({steps, 3}));
  const Value once = model.add(Dense(6, Activation::relu), states);
  model.output(model.add(GlobalAveragePool1D(), model.reuse(once, {once})));
  model.build(/*seed=*/2);
  Model quantized = quantize_model(model, {.rounding = rounding});
  calibrate(quantized, Tensor::uniform({8, steps, 3}, Random(5), -1.0F, 1.0F));
  return lower(quantized);
}

TEST_P(CSourceRandomNets, StepsOfTimeHaveTheirFunctionsInCommon) {
  std::vector<CCase> cases;
  std::vector<CSource> sources;
  for (const Index steps : {3, 12}) {
    const IntegerModel model = over_steps(steps, GetParam());
    cases.push_back({model, GetParam(), random_codes(model, 20, 1)});
    sources.push_back(to_c_source(model, "net"));
  }
  expect_equal(CDriver(std::move(cases)));
  EXPECT_EQ(sources[0].flash_bytes, sources[1].flash_bytes);
  const auto functions = [](const CSource& source) {
    constexpr std::string_view kFunction = "static void net_layer";
    int count = 0;
    for (std::size_t at = 0; (at = source.source.find(kFunction, at)) != std::string::npos; ++at) {
      ++count;
    }
    return count;
  };
  // Slices of the steps differ.
  EXPECT_LE(functions(sources[1]) - functions(sources[0]), 3 * (12 - 3) + 2);
}

TEST_P(CSourceRandomNets, EqualTheInterpreterAsGraphs) {
  std::vector<CCase> cases;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    octet::test::RandomGraph graph(seed);
    Model model = quantize_model(graph.model(), graph.options(GetParam()));
    calibrate(model, graph.batch(17));
    octet::test::train_a_little(model, graph, 2);
    const IntegerModel lowered = lower(model);
    cases.push_back({lowered, GetParam(), random_codes(lowered, 100, seed)});
  }
  const CDriver driver(std::move(cases));
  EXPECT_GT(driver.output_bytes(), 10000U);
  expect_equal(driver);
}

TEST_P(CSourceRandomNets, EqualTheInterpreterOnConvolutions) {
  std::vector<CCase> cases;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Sequential model = seed % 2 == 0 ? octet::test::random_images_net(seed)
                                     : octet::test::random_sequences_net(seed);
    model = quantize_model(model, {.rounding = GetParam()});
    calibrate(model, octet::test::images_for(model, 20, seed));
    octet::test::train_a_little(model, seed);
    const IntegerModel lowered = lower(model);
    cases.push_back(
        {lowered, GetParam(), random_codes(lowered, 100, static_cast<std::uint32_t>(seed))});
  }
  const CDriver driver(std::move(cases));
  EXPECT_EQ(driver.output_bytes(), 60 * 100 * 3);
  expect_equal(driver);
}

TEST_P(CSourceRandomNets, EqualTheInterpreterOnSequences) {
  std::vector<CCase> cases;
  for (std::uint32_t seed = 0; seed < random_networks(40); ++seed) {
    octet::test::RandomSequence net(seed);
    Model model = quantize_model(net.model(), net.options(GetParam()));
    calibrate(model, net.batch(17));
    octet::test::train_a_little(model, 2, [&] { return net.batch(5); });
    const IntegerModel lowered = lower(model);
    cases.push_back({lowered, GetParam(), random_codes(lowered, 20, seed)});
  }
  expect_equal(CDriver(std::move(cases)));
}

TEST_P(CSourceRandomNets, EqualTheInterpreterOnStreams) {
  std::vector<CCase> cases;
  for (std::uint32_t seed = 0; seed < random_networks(20); ++seed) {
    octet::test::RandomStream net(seed);
    Model model = quantize_model(net.model(), {.rounding = GetParam()});
    calibrate(model, net.batch(17));
    const IntegerModel lowered = lower(octet::test::streamed(model).model);
    cases.push_back({lowered, GetParam(), random_codes(lowered, 20, seed)});
  }
  expect_equal(CDriver(std::move(cases)));
}

INSTANTIATE_TEST_SUITE_P(Contracts, CSourceRandomNets, ::testing::ValuesIn(kContracts),
                         contract_name);

/// Convolutions whose channels fill vectors and a part of one, then rows of FULLY_CONNECTED.
IntegerModel wide_convolutions(std::uint32_t seed) {
  Draw draw(seed);
  RawModelBuilder b;
  std::int32_t x = b.activation("x", {draw.between(1, 2), draw.between(9, 13), 11, 3}, DType::int8,
                                quant(0.03F, draw.between(-128, 127)));
  b.model.inputs = {x};
  const auto last = [&] { return b.model.tensors[static_cast<std::size_t>(x)]; };
  const auto add = [&](SumsSpec spec) {
    const bool fits =
        std::min(last().shape[1], last().shape[2]) > (spec.kernel - 1) * spec.dilation;
    spec.padding = fits && draw.between(0, 1) == 0 ? Padding::valid : Padding::same;
    spec.activation = static_cast<FusedActivation>(draw.between(0, 3));
    spec.per_channel = draw.between(0, 1) == 0;
    spec.bias = draw.between(0, 3) > 0;
    spec.bits = draw.between(2, 8);
    x = add_sums(b, x, spec, draw);
  };
  for (int i = 0; i < 4; ++i) {
    add({.code = OpCode::conv_2d, .units = draw.between(4, 23), .kernel = draw.between(1, 3)});
    add({.code = OpCode::depthwise_conv_2d,
         .units = 1,
         .kernel = draw.between(2, 3),
         .stride = draw.between(1, 2),
         .dilation = draw.between(1, 2)});
    add({.code = OpCode::conv_2d, .units = 2 * draw.between(2, 9)});
    add({.code = OpCode::conv_2d, .units = 2 * draw.between(1, 9), .groups = 2});
  }
  const std::vector<std::int32_t> rows{-1, last().shape[3]};
  const std::int32_t pixels =
      b.activation("pixels", {static_cast<std::int32_t>(last().size()) / rows[1], rows[1]},
                   DType::int8, last().quantization);
  b.op(OpCode::reshape, {x, b.constant("shape", {2}, DType::int32, rows)}, pixels,
       ReshapeAttributes{.new_shape = rows});
  b.model.outputs = {add_sums(b, pixels, {.units = draw.between(1, 9)}, draw)};
  return b.model;
}

TEST_F(CSourceNets, EveryPathEqualsTheInterpreter) {
  std::vector<CCase> cases;
  for (std::uint32_t seed = 0; seed < 9; ++seed) {
    const IntegerModel model = wide_convolutions(seed);
    cases.push_back({.model = model,
                     .rounding = kContracts[seed % 3],
                     .inputs = random_codes(model, 20, seed),
                     .code = seed < 6 ? CCode::fast : CCode::small,
                     .input_in_arena = seed % 2 == 0});
  }
  const CDriver driver(std::move(cases));
  // Paths in turn by each compiler; by the other one with traps.
  const Words compilers = c_compilers();
  for (std::size_t i = 0; i < path_flags().size(); ++i) {
    const Words path = path_flags()[i];
    const Words flags = joined(joined(kStrict, path), {"-std=c99", "-O1"});
    EXPECT_EQ(driver.differing(compilers[i % compilers.size()], flags), 0U)
        << ::testing::PrintToString(path);
    const std::string& other = compilers[(i + 1) % compilers.size()];
    EXPECT_EQ(driver.differing(other, joined(path, kTrapUndefined)), 0U)
        << ::testing::PrintToString(path);
  }
}

/// A model 784-256-128-10 that has learned a little, its integers under a contract.
class Learned {
 public:
  explicit Learned(const DataSplit& data) : data_(data), model_("mnist") {
    model_.add(Input({data.train.example_shape().size()}));
    model_.add(Dense(256, Activation::relu));
    model_.add(Dense(128, Activation::relu));
    model_.add(Dense(10, Activation::softmax));
    model_.build(0);
    Trainer(model_, Adam()).fit(data.train.head(6000), 1);
  }

  CCase integers(Rounding rounding, int bits = 8) const {
    Sequential quantized = quantize_model(
        model_, {.rounding = rounding, .weight_bits = bits, .per_channel = bits % 2 == 0});
    Trainer trainer(quantized, Adam(1e-4F));
    trainer.fit(data_.train.head(1000), 1);
    const IntegerModel model = trainer.lower();
    const Tensor images = data_.test.features(0, data_.test.size());
    return {model, rounding, quantized_codes(model, images.span(), rounding), CWeights::packed};
  }

 private:
  const DataSplit& data_;
  Sequential model_;
};

void expect_equal_on_every_test_image(const DataSplit& data) {
  const Learned learned(data);
  std::vector<CCase> cases;
  cases.reserve(9);
  for (const Rounding rounding : kContracts) cases.push_back(learned.integers(rounding));
  for (int bits = 2; bits < 8; ++bits) {
    cases.push_back(learned.integers(kContracts.at(static_cast<std::size_t>(bits) % 3), bits));
  }
  const CDriver driver(std::move(cases));
  EXPECT_EQ(driver.output_bytes(), 9 * 10 * data.test.size());
  for (const std::string& compiler : c_compilers()) {
    EXPECT_EQ(driver.differing(compiler, joined(kStrict, {"-std=c99", "-O3"})), 0U);
  }
}

// MNIST where it is there, else digits that Octet draws.
TEST_F(CSourceNets, EqualTheInterpreterOnDigits) {
  const char* folder = std::getenv("OCTET_MNIST_DIR");
  const bool has_mnist = folder != nullptr && *folder != '\0';
  DataSplit data = has_mnist ? load_idx(folder) : make_digits(0, 6000, 1000);
  // All of MNIST takes minutes.
  if (std::getenv("OCTET_ALL_IMAGES") == nullptr) data.test = data.test.head(1000);
  expect_equal_on_every_test_image(data);
}

}  // namespace
}  // namespace octet::test::c_source_nets_test
