// Parts of .tflite files, and values of uint8.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/deploy/outline_internal.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/import/tflite/import_tflite.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/deploy/tflite_file.h>
#include <octet/tests/train/data/idx_files.h>

#include <fstream>

namespace octet::test::tflite_cut_test {
namespace {

using File = TfliteFile;

// Numbers of the format.
constexpr std::int32_t kAveragePool = 1;
constexpr std::int32_t kConv = 3;
constexpr std::int32_t kRelu = 19;
constexpr std::int32_t kReluN1To1 = 20;
constexpr std::int32_t kEqual = 71;
constexpr std::uint8_t kConvOptions = 1;
constexpr std::uint8_t kPoolOptions = 5;

/// x, a = RELU(x), b = RELU(a), EQUAL(a, b), which gives bool.
std::vector<std::uint8_t> compared() {
  File file;
  for (int i = 0; i < 3; ++i) file.add(File::float32, {-1, 2});
  file.add(File::boolean, {-1, 2});
  file.op(kRelu, {0}, {1});
  file.op(kRelu, {1}, {2});
  file.op(kEqual, {1, 2}, {3});
  return file.bytes({0}, {3});
}

using Outputs = std::vector<std::vector<float>>;

Outputs run(const IntegerModel& model, const std::vector<float>& x) {
  Interpreter interpreter(model);
  const std::span<const float> input(x);
  return interpreter.run_all({&input, 1});
}

TEST(TfliteCut, ReadsWhatNamedValuesFollowFrom) {
  const auto file = compared();
  EXPECT_EQ(run(from_tflite(file, {.to = {"t2", "t1"}}), {-1, 3}), (Outputs{{0, 3}, {0, 3}}));
  const IntegerModel behind = from_tflite(file, {.from = {"t1"}, .to = {"2"}});
  EXPECT_EQ(behind.operators.size(), 1U);
  EXPECT_EQ(behind.tensors.size(), 2U);
  EXPECT_EQ(run(behind, {-2, 5}), (Outputs{{0, 5}}));
}

TEST(TfliteCut, NamesWhatIsMissing) {
  const auto file = compared();
  const std::vector<std::pair<TfliteReading, const char*>> faults = {
      {{.to = {"t9"}}, "--to: expected the name of one value"},
      {{.from = {"y"}, .to = {"t2"}}, "found 'y', which 0 have"},
      {{.from = {"t2"}, .to = {"t2", "t1"}}, "read the input 't0', too"},
      {{.to = {"t3"}}, "type bool is not supported"}};
  for (const auto& [reading, says] : faults) {
    expect_throws<FormatError>([&, &how = reading] { from_tflite(file, how); }, {says});
  }
}

TEST(TfliteCut, ARefusalProposesWhatWasTried) {
  const auto file = compared();
  expect_throws<FormatError>([&] { from_tflite(file); },
                             {"type bool", "; --to 't1' --to 't2' takes the operators in front"});
}

/// The reading succeeds; the importer has no layer for RELU_N1_TO_1.
TEST(TfliteCut, ARefusalOfTheImporterProposesWhatWasImported) {
  File file;
  for (int i = 0; i < 4; ++i) file.add(File::float32, {-1, 2});
  file.op(kRelu, {0}, {1});
  file.op(kReluN1To1, {1}, {2});
  file.op(kRelu, {2}, {3});
  const auto bytes = file.bytes({0}, {3});
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "a.tflite";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  expect_throws<FormatError>([&] { import_tflite(path); },
                             {"no layer computes it", "; --to 't1' takes the operators in front"});
  EXPECT_EQ(import_tflite(path, {.to = {"t1"}}).layers().size(), 2U);
  expect_throws<InvalidArgument>(
      [&] {
        import_tflite(path, {.shapes = {{"t0", {1, 2}}}});
      },
      {"--shape", "states the extents of \"t0\" itself"});
}

/// A CONV_2D on uint8, whose weights have a zero point and reach beyond int8 less that.
TEST(TfliteCut, AnOutlineNamesNoTensorThatIsNotThere) {
  File file;
  file.add(File::float32, {1, 2});
  file.add(File::float32, {1, 2});
  file.op(kRelu, {2}, {1});
  file.op(kRelu, {-2}, {1});
  const detail::FileOutline outline = detail::outline_tflite(file.bytes({0}, {1, 3}));
  ASSERT_EQ(outline.graphs.size(), 1U);
  const detail::OutlinedGraph& graph = outline.graphs[0];
  using Indices = std::vector<std::int32_t>;
  for (const detail::OutlinedOperator& op : graph.operators) EXPECT_EQ(op.inputs, Indices{-1});
  EXPECT_EQ(graph.inputs, Indices{0});
  EXPECT_EQ(graph.outputs, (Indices{1, -1}));
}

TEST(TfliteUint8, WeightsHaveAZeroPoint) {
  File file;
  file.add(File::uint8, {-1, 1, 1, 2});
  const auto filter =
      file.add_constant(File::uint8, {2, 1, 1, 2}, std::vector<std::uint8_t>{255, 7, 1, 9}, {7});
  const auto y = file.add(File::uint8, {-1, 1, 1, 2});
  file.op(kConv, {0, filter}, {y}, kConvOptions, {1, 1, 1});
  const IntegerModel model = from_tflite(file.bytes({0}, {y}));
  for (const std::int32_t end : {model.inputs[0], model.outputs[0]}) {
    const ModelTensor& tensor = model.tensors[static_cast<std::size_t>(end)];
    EXPECT_EQ(tensor.dtype, DType::uint8);
    EXPECT_EQ(tensor.quantization.zero_point(), 128);
    EXPECT_EQ(tensor.quantization.qmax, 255);
  }
  // In steps of 0.5: 248 and 0, -6 and 2.
  EXPECT_EQ(run(model, {0.5F, 4.0F}), (Outputs{{62.0F, 2.5F}}));
}

TEST(TfliteUint8, ZeroPointsOfChannelsGoWhereTheCodesAllowIt) {
  const auto with = [](std::int8_t third) {
    File file;
    file.add(File::int8, {-1, 1, 1, 2});
    const auto filter = file.add_constant(File::int8, {2, 1, 1, 2},
                                          std::vector<std::int8_t>{3, -9, third, 4}, {3, -2});
    const auto y = file.add(File::int8, {-1, 1, 1, 2});
    file.op(kConv, {0, filter}, {y}, kConvOptions, {1, 1, 1});
    return file.bytes({0}, {y});
  };
  // In steps of 0.5: 0 and -12, 127 and 6.
  EXPECT_EQ(run(from_tflite(with(125)), {1.0F, -1.5F}), (Outputs{{9.0F, 59.0F}}));
  EXPECT_THROW(from_tflite(with(126)), FormatError);
}

TEST(TfliteUint8, AnAverageThatIsRoundedOtherwiseIsRefused) {
  for (const auto& [size, fits] : {std::pair{3, true}, {2, false}}) {
    File file;
    file.add(File::uint8, {-1, size, size, 1});
    file.add(File::uint8, {-1, 1, 1, 1});
    // Padding VALID, strides of 1, and the window.
    file.op(kAveragePool, {0}, {1}, kPoolOptions, {1, 1, 1, size, size});
    const auto bytes = file.bytes({0}, {1});
    if (fits) {
      EXPECT_NO_THROW(from_tflite(bytes));
    } else {
      expect_throws<FormatError>([&] { from_tflite(bytes); },
                                 {"AVERAGE_POOL_2D", "halves", "found windows of 2 x 2"});
    }
  }
}

}  // namespace
}  // namespace octet::test::tflite_cut_test
