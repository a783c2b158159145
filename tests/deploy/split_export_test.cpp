// Parts of values, and axes in another order, in exported files.

#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/layers.h>
#include <octet/tests/deploy/lowered.h>
#include <octet/tests/deploy/onnx_evaluator.h>
#include <octet/tests/layers/quantize/same_as_shipped.h>

namespace octet::test::split_export_test {
namespace {

using Lines = std::vector<std::string>;

/// What `slices` makes of an input [3, 4], each part a model output, quantized.
template <class Slices>
Model quantized_parts(Slices slices, const QuantizeOptions& options = {}) {
  Model model("m");
  for (const Value& part : slices(model, model.input({3, 4}, "x"))) model.output(part);
  model.build();
  Model quantized = quantize_model(model, options);
  calibrate(quantized, random_tensor({20, 3, 4}, 1));
  return quantized;
}

/// Slices along the last axis, each of `parts` a begin and a size.
auto columns(std::vector<std::pair<Index, Index>> parts) {
  return [parts](Model& model, const Value& x) {
    std::vector<Value> values;
    for (const auto& [begin, size] : parts) {
      values.push_back(model.add(Slice({.begin = begin, .size = size}), x));
    }
    return values;
  };
}

auto equal(Index count, Index axis) {
  return [=](Model& model, const Value& x) { return model.split(x, count, axis, "part"); };
}

TEST(SplitExport, EqualPartsOfAValueAreOneSplit) {
  const auto lines = [](const auto& slices) {
    return operator_lines(lower(quantized_parts(slices)));
  };
  EXPECT_EQ(lines(equal(2, -1)), Lines{"SPLIT part_0"});
  EXPECT_EQ(lines(equal(3, 0)), Lines{"SPLIT part_0"});
  EXPECT_EQ(lines(equal(1, 0)), Lines{});
  EXPECT_EQ(lines(columns({{0, 1}, {1, 1}, {2, 1}, {3, 1}})), Lines{"SPLIT slice"});
  const auto stay = [&](const auto& slices, std::size_t count) {
    const Lines found = lines(slices);
    EXPECT_EQ(found.size(), count);
    for (const std::string& line : found) EXPECT_TRUE(line.starts_with("STRIDED_SLICE")) << line;
  };
  stay(columns({{0, 2}}), 1);
  stay(columns({{0, 1}, {1, 1}, {2, 1}}), 3);
  stay(columns({{2, 2}, {0, 2}}), 2);
  stay(columns({{0, 3}, {3, 1}}), 2);
  stay(columns({{0, 2}, {1, 2}}), 2);
}

TEST(SplitExport, PartsThatAreCutAgainAndPartsOfAnotherValueAreNot) {
  const auto lines = operator_lines(lower(quantized_parts([](Model& model, const Value& x) {
    const Value left = model.add(Slice({.begin = 0, .size = 2}), x);
    return std::vector{model.add(Slice({.begin = 2, .size = 2}), x),
                       model.add(Slice({.axis = 0, .size = 2}), left)};
  })));
  EXPECT_EQ(lines.size(), 2U);
}

TEST(SplitExport, MorePartsThanASplitHasStaySlices) {
  Model model("m");
  for (const Value& part : model.split(model.input({17}), 17)) model.output(part);
  model.build();
  EXPECT_EQ(lower_float(model).operators.size(), 17U);
}

TEST(SplitExport, ComputesWhatIsTrainedOnInt8AndInt16AndInFloat) {
  const auto slices = [](Model& model, const Value& x) {
    std::vector<Value> parts = model.split(x, 2);
    return std::vector{model.add(Dense(3), parts[1]), model.add(Permute({2, 1}), parts[0])};
  };
  for (const QuantizeOptions& options :
       {QuantizeOptions{}, QuantizeOptions{.rounding = Rounding::double_rounding},
        QuantizeOptions{.rounding = Rounding::q15, .activation_bits = 16}}) {
    const Model model = quantized_parts(slices, options);
    const IntegerModel shipped = from_tflite(to_tflite(lower(model)));
    EXPECT_EQ(operator_lines(shipped).front(), "SPLIT split_part");
    expect_same_as_shipped(model, shipped, random_tensor({9, 3, 4}, 2));
  }
}

TEST(SplitExport, OfLayersInFloatIsASplitOfFloats) {
  Model model("m");
  const Value x = model.add(Dense(4), model.input({5}, "x"));
  std::vector<Value> parts;
  for (Index part = 0; part < 2; ++part) {
    auto layer = std::make_unique<SplitPart>(2, part);
    layer->set_quantization({.in_float = true});
    parts.push_back(model.add(std::move(layer), {x}));
  }
  model.output(model.add(Dense(3), model.add(Add(), parts)));
  model.build();
  Model quantized = quantize_model(model);
  calibrate(quantized, random_tensor({20, 5}, 1));
  const IntegerModel shipped = from_tflite(to_tflite(lower(quantized)));
  EXPECT_EQ(operator_lines(shipped)[2], "SPLIT split_part");
  expect_same_as_shipped(quantized, shipped, random_tensor({9, 5}, 2));
}

TEST(SplitExport, OnnxHasEachPart) {
  Model model("m");
  const std::vector<Value> parts = model.split(model.input({6}, "x"), 3);
  model.output(model.add(Concatenate(-1, "y"), {parts[2], parts[0], parts[1]}));
  model.build();
  Model quantized = quantize_model(model);
  calibrate(quantized, random_tensor({20, 6}, 1));
  const IntegerModel lowered = lower(quantized);
  const std::vector<std::int8_t> x = {-3, 90, 127, -128, 5, 6};
  const std::vector<double> expected = {5, 6, -3, 90, 127, -128};
  EXPECT_EQ(onnx_codes(lowered, {.float_io = false}, x), expected);
}

}  // namespace
}  // namespace octet::test::split_export_test
