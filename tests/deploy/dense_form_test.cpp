#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/quant/fixed_point.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/runtime/dense_form.h>
#include <octet/runtime/interpreter.h>
#include <octet/runtime/operators/conv_2d.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/deploy/lowered.h>
#include <octet/tests/runtime/models.h>

#include <algorithm>

namespace octet::test::dense_form_test {
namespace {

using Codes = std::vector<OpCode>;

Codes codes_of(const IntegerModel& model) {
  Codes result;
  for (const Operator& op : model.operators) result.push_back(op.code);
  return result;
}

std::vector<std::byte> run(const IntegerModel& model, Rounding rounding, std::uint64_t seed) {
  Interpreter interpreter(model, {.rounding = rounding, .batch = 17});
  Draw draw(seed);
  for (std::byte& b : interpreter.input_bytes()) b = static_cast<std::byte>(draw.between(0, 255));
  interpreter.invoke();
  return {interpreter.output_bytes().begin(), interpreter.output_bytes().end()};
}

void expect_same_bytes(const IntegerModel& a, const IntegerModel& b) {
  for (const Rounding rounding : kContracts) {
    EXPECT_EQ(run(a, rounding, 3), run(b, rounding, 3)) << to_string(rounding);
  }
}

/// One CONV_2D of `filter` on an input of `image`.
IntegerModel make_conv(const std::vector<std::int32_t>& image,
                       const std::vector<std::int32_t>& filter, bool per_channel = true) {
  RawModelBuilder b;
  Draw draw(4);
  const std::int32_t x = b.activation("x", image, DType::int8, quant(0.05F, 7));
  b.model.inputs = {x};
  const auto count = static_cast<std::size_t>(per_channel ? filter[0] : 1);
  QuantParams scales{{}, std::vector<std::int32_t>(count), 0, -128, 127};
  for (std::size_t i = 0; i < count; ++i) scales.scales.push_back(draw.uniform(0.002F, 0.02F));
  const std::int32_t size = filter[0] * filter[1] * filter[2] * filter[3];
  std::vector<std::int8_t> weights;
  weights.reserve(static_cast<std::size_t>(size));
  for (std::int32_t i = 0; i < size; ++i) {
    weights.push_back(static_cast<std::int8_t>(draw.between(-127, 127)));
  }
  const std::int32_t w = b.constant("w", filter, DType::int8, weights, scales);
  const std::vector<std::int32_t> biases(static_cast<std::size_t>(filter[0]), 250);
  const std::int32_t bias = b.constant("bias", {filter[0]}, DType::int32, biases);
  std::vector<std::int32_t> shape = image;
  shape.back() = filter[0];
  const std::int32_t y = b.activation("y", shape, DType::int8, quant(0.1F, -5));
  b.op(OpCode::conv_2d, {x, w, bias}, y, Conv2DAttributes{.activation = FusedActivation::relu6});
  b.model.outputs = {y};
  return b.model;
}

TEST(DenseForm, LayersInARowShareTheirImages) {
  const IntegerModel dense = make_mlp(1, {7, 5, 1, 3}, true, false);
  const IntegerModel conv = per_channel_as_conv_2d(dense);
  // The layer of one unit has one scale, and stays.
  EXPECT_EQ(codes_of(conv),
            (Codes{OpCode::reshape, OpCode::conv_2d, OpCode::reshape, OpCode::fully_connected,
                   OpCode::reshape, OpCode::conv_2d, OpCode::reshape, OpCode::softmax}));
  const IntegerModel deep = per_channel_as_conv_2d(make_mlp(2, {9, 6, 5, 4}, true, true));
  EXPECT_EQ(codes_of(deep),
            (Codes{OpCode::quantize, OpCode::reshape, OpCode::conv_2d, OpCode::conv_2d,
                   OpCode::conv_2d, OpCode::reshape, OpCode::softmax, OpCode::dequantize}));
  expect_same_bytes(dense, conv);
  EXPECT_EQ(codes_of(per_channel_as_conv_2d(make_mlp(1, {7, 5}, false, false))),
            codes_of(make_mlp(1, {7, 5}, false, false)));
}

TEST(DenseForm, FilesRoundTripAndComputeTheSame) {
  Draw draw(6);
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    std::vector<std::int32_t> sizes;
    for (int layers = draw.between(2, 5); layers > 0; --layers)
      sizes.push_back(draw.between(1, 40));
    const IntegerModel dense = make_mlp(seed, sizes, true, false);
    const auto bytes = to_tflite(per_channel_as_conv_2d(dense));
    const IntegerModel again = from_tflite(bytes);
    EXPECT_EQ(to_tflite(again), bytes);
    EXPECT_EQ(again.metadata, dense.metadata);
    for (const Operator& op : again.operators) {
      if (op.code != OpCode::conv_2d) continue;
      EXPECT_EQ(op.version, 3);
    }
    expect_same_bytes(dense, again);
    EXPECT_FALSE(to_onnx(again).empty());
  }
}

TEST(DenseForm, RowsBiasesAndReadersOfEveryKind) {
  RawModelBuilder b;
  Draw draw(8);
  const std::int32_t x = b.activation("x", {1, 12}, DType::int8, quant(0.1F, 3));
  b.model.inputs = {x};
  // Three rows of four; read by one more layer in rows of five, and an output itself.
  const std::int32_t folded = b.activation("folded", {3, 4}, DType::int8, quant(0.1F, 3));
  b.op(OpCode::reshape, {x}, folded, ReshapeAttributes{.new_shape = {-1, 4}});
  const DenseSpec spec{.units = 10, .per_channel = true, .bias = false, .output_scale = 0.3F};
  const std::int32_t first = add_dense(b, folded, spec, draw);
  QuantParams grid = b.model.tensors[static_cast<std::size_t>(first)].quantization;
  const std::int32_t again = b.activation("again", {6, 5}, DType::int8, grid);
  b.op(OpCode::reshape, {first}, again, ReshapeAttributes{.new_shape = {-1, 5}});
  const std::int32_t second = add_dense(b, again, {.units = 2, .per_channel = true}, draw);
  const std::int32_t shared = b.model.operators.back().inputs[1];
  b.model.outputs = {second};
  const IntegerModel conv = per_channel_as_conv_2d(b.model);
  EXPECT_EQ(std::ranges::count(codes_of(conv), OpCode::conv_2d), 2);
  for (const Operator& op : conv.operators) {
    if (op.code != OpCode::conv_2d) continue;
    ASSERT_EQ(op.inputs.size(), 3U);
    EXPECT_NE(op.inputs[2], -1) << "a bias of zeros";
  }
  expect_same_bytes(b.model, from_tflite(to_tflite(conv)));

  // Two layers that read the same weights become convolutions together.
  const std::int32_t other = b.activation("other", {6, 2}, DType::int8, quant(0.2F, 0));
  b.op(OpCode::fully_connected, {again, shared}, other);
  b.model.outputs = {other};
  const IntegerModel both = per_channel_as_conv_2d(b.model);
  EXPECT_EQ(std::ranges::count(codes_of(both), OpCode::conv_2d), 3);
  expect_same_bytes(b.model, from_tflite(to_tflite(both)));

  // Weights that something else reads stay as they are.
  b.model.outputs = {other, shared};
  EXPECT_EQ(std::ranges::count(codes_of(per_channel_as_conv_2d(b.model)), OpCode::conv_2d), 1);
}

// Rows that a layer keeps are pixels of one image, so that the batch stays the first axis.
TEST(DenseForm, LayersThatKeepAxesReadPixels) {
  Sequential net("rows", Input({3, 2, 5}), Dense(4, Activation::relu), Dense(6), Flatten(),
                 Dense(2));
  net.build(1);
  Sequential model = quantize_model(net, {.per_channel = true});
  calibrate(model, random_tensor({20, 3, 2, 5}, 1, -1.0F, 1.0F));
  const IntegerModel dense = lower(model);
  const IntegerModel conv = per_channel_as_conv_2d(dense);
  EXPECT_EQ(codes_of(conv),
            (Codes{OpCode::reshape, OpCode::conv_2d, OpCode::conv_2d, OpCode::reshape,
                   OpCode::reshape, OpCode::reshape, OpCode::conv_2d, OpCode::reshape}));
  const auto& pixels = conv.tensors[static_cast<std::size_t>(conv.operators[1].outputs[0])];
  EXPECT_EQ(pixels.shape, (std::vector<std::int32_t>{1, 1, 6, 4}));
  EXPECT_EQ(pixels.shape_signature, (std::vector<std::int32_t>{-1, 1, 6, 4}));
  expect_same_bytes(dense, from_tflite(to_tflite(conv)));
}

TEST(DenseForm, AConvolutionOfPixelsIsADenseLayerOverChannels) {
  for (const bool per_channel : {false, true}) {
    const IntegerModel conv = make_conv({1, 3, 5, 7}, {4, 1, 1, 7}, per_channel);
    const auto& w = conv.tensors[1].quantization;
    const auto codes = run(conv, Rounding::double_rounding, 2);
    Interpreter interpreter(conv, {.rounding = Rounding::double_rounding, .batch = 17});
    Draw draw(2);
    const auto* weights = reinterpret_cast<const std::int8_t*>(conv.tensors[1].data.data());
    for (std::size_t pixel = 0; pixel < 17 * 15; ++pixel) {
      std::int64_t sums[4] = {250, 250, 250, 250};
      for (std::size_t c = 0; c < 7; ++c) {
        const auto code = static_cast<std::int8_t>(draw.between(0, 255));
        for (std::size_t u = 0; u < 4; ++u) sums[u] += (code - 7) * weights[u * 7 + c];
      }
      for (std::size_t u = 0; u < 4; ++u) {
        // CONV_2D: the factor is made in double, for one scale too.
        const double factor = double{0.05F} * double{w.scales[per_channel ? u : 0]} / double{0.1F};
        const auto q = quantize_multiplier(factor, Rounding::double_rounding);
        const std::int32_t scaled = multiply_by_quantized_multiplier(
            static_cast<std::int32_t>(sums[u]), q, Rounding::double_rounding);
        EXPECT_EQ(static_cast<std::int8_t>(codes[pixel * 4 + u]), std::clamp(scaled - 5, -5, 55));
      }
    }
  }
}

TEST(DenseForm, AConvolutionOfOneScaleMakesItsFactorInDouble) {
  const IntegerModel conv = make_conv({1, 1, 1, 7}, {4, 1, 1, 7}, false);
  const auto numbers =
      detail::conv_2d_numbers({conv, conv.operators[0], Rounding::double_rounding});
  const auto scale = double{conv.tensors[1].quantization.scale()};
  ASSERT_EQ(numbers.epilogue.requantizer.multipliers().size(), 1U);
  EXPECT_EQ(numbers.epilogue.requantizer.multipliers()[0],
            quantize_multiplier(double{0.05F} * scale / double{0.1F}));
}

}  // namespace
}  // namespace octet::test::dense_form_test
