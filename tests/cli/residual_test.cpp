// examples/residual.cpp on a small set, and the octet tool on the graph that it leaves behind.

#include <fmt/core.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/cli/mnist_qat.h>
#include <octet/train/data/idx.h>
#include <octet/train/evaluate.h>
#include <octet_test_paths.h>

namespace octet::test::residual_test {
namespace {

using nlohmann::json;

/// The example has run in a folder of its own, once for all tests.
class ResidualExample : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = std::make_unique<ScratchDirectory>();
    write_set(path("set"), 500, 150);
    example_ = example("--data set");
  }
  static void TearDownTestSuite() { scratch_.reset(); }

  void SetUp() override { ASSERT_EQ(example_.exit_code, 0) << example_.out << example_.err; }

  static std::string path(const std::string& name) { return (scratch_->path() / name).string(); }
  static ProcessResult example(const std::string& options) {
    return run_process({"/bin/sh", "-c", "cd \"$0\" && exec '" OCTET_RESIDUAL "' " + options,
                        scratch_->path().string()},
                       plain_environment());
  }
  static ProcessResult octet(const Arguments& arguments) {
    const ProcessResult result = run_process(Arguments{OCTET_TOOL} + arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return result;
  }
  /// What `octet verify` finds of the set's images, none of whose outputs may differ.
  static json verified(const std::string& a, const std::string& b, const Arguments& options = {}) {
    const Arguments call = {"verify", path(a), path(b), "--data", path("set"), "--json"};
    const json result = json::parse(octet(call + options).out);
    EXPECT_EQ(result.at("total").at("differing"), 0) << a << " and " << b;
    EXPECT_EQ(result.at("samples"), 150);
    return result;
  }

  static inline std::unique_ptr<ScratchDirectory> scratch_;
  static inline ProcessResult example_;
};

constexpr int kPixels = 9 * 7;
constexpr int kCodes = 2 * kPixels + 4 * 256 + 2 * 64 + 128 + 2 * 4;

TEST_F(ResidualExample, ShowsTheGraphAndThatNothingDiffers) {
  expect_mentions(example_.out, "Connected to");
  expect_mentions(example_.out, "quant_add");
  expect_mentions(example_.out, "layer outputs that differ: 0 of " + std::to_string(150 * kCodes) +
                                    " over 150 images");
}

TEST_F(ResidualExample, TellsWhatIsWrong) {
  for (const char* options : {"--data", "--frob x", "set"}) {
    const ProcessResult result = example(options);
    EXPECT_EQ(result.exit_code, 2) << options;
    EXPECT_EQ(result.err, "usage: residual [--data DIR]\n");
  }
  const ProcessResult missing = example("--data nowhere");
  EXPECT_EQ(missing.exit_code, 1);
  expect_mentions(missing.err, "residual: ");
  expect_mentions(missing.err, "nowhere");
}

TEST_F(ResidualExample, VerifyComparesCheckpointFileAndCSourceLayerByLayer) {
  const json layers = verified("residual.ckpt", "residual_int8.tflite", {"--layers"});
  EXPECT_EQ(layers.at("layers").size(), 11U);
  EXPECT_EQ(layers.at("total").at("compared"), 150 * kCodes);
  EXPECT_EQ(verified("residual_int8.c", "residual_int8.tflite").at("total").at("compared"),
            150 * 4);
  verified("residual.ckpt", "residual_int8.c");
  const ProcessResult other =
      run_process({OCTET_TOOL, "verify", path("residual.ckpt"), path("residual_int8.tflite"),
                   "--layers", "--random", "300", "--rounding-b", "double"});
  EXPECT_EQ(other.exit_code, 1) << other.out << other.err;
}

TEST_F(ResidualExample, InspectShowsForksSumsAndConcatenations) {
  const ProcessResult text = octet({"inspect", path("residual_int8.tflite")});
  for (const char* part : {"ADD", "CONCATENATION", "axis", "relu", "octet.rounding = fp32"}) {
    expect_mentions(text.out, part);
  }
  const json model = json::parse(octet({"inspect", "--json", path("residual_int8.tflite")}).out);
  EXPECT_EQ(model.at("warnings"), json::array());
  std::vector<std::string> operators;
  for (const json& op : model.at("operators")) operators.push_back(op.at("operator"));
  EXPECT_EQ(operators, (std::vector<std::string>{"RESHAPE", "FULLY_CONNECTED", "FULLY_CONNECTED",
                                                 "FULLY_CONNECTED", "ADD", "FULLY_CONNECTED",
                                                 "FULLY_CONNECTED", "CONCATENATION",
                                                 "FULLY_CONNECTED", "SOFTMAX"}));
  const json& sum = model.at("operators")[4];
  EXPECT_EQ(sum.at("activation"), "relu");
  EXPECT_EQ(sum.at("inputs")[0], model.at("operators")[1].at("outputs")[0]);
  EXPECT_EQ(sum.at("inputs")[1], model.at("operators")[3].at("outputs")[0]);
}

TEST_F(ResidualExample, ExportWritesWhatTheExampleWrote) {
  octet(
      {"export", path("residual_int8.tflite"), "--c", path("again"), "--onnx", path("again.onnx")});
  EXPECT_EQ(read_file(path("again.onnx")), read_file(path("residual_int8.onnx")));
  verified("again.c", "residual_int8.tflite");
}

TEST_F(ResidualExample, EvalAndRunGiveTheInterpretersResults) {
  const IntegerModel model = read_tflite(path("residual_int8.tflite"));
  const Dataset images = load_idx(path("set")).test;
  const Evaluation expected = evaluate(model, images);
  const ProcessResult eval = octet({"eval", path("residual_int8.tflite"), "--data", path("set")});
  expect_mentions(eval.out, fmt::format("{:.2f} %", 100.0 * expected.accuracy));

  Interpreter interpreter(model, {.batch = 20});
  const Random random(1);
  Bytes codes(interpreter.input_bytes().size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<std::uint8_t>(random.below(i, 256));
  }
  std::memcpy(interpreter.input_bytes().data(), codes.data(), codes.size());
  interpreter.invoke();
  write_file_atomic(path("in.raw"), codes);
  octet({"run", path("residual_int8.tflite"), "--input", path("in.raw"), "--output",
         path("out.raw")});
  const Bytes output = read_file(path("out.raw"));
  EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(output)), interpreter.output_bytes()));
}

}  // namespace
}  // namespace octet::test::residual_test
