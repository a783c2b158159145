#pragma once

#include <octet/runtime/operator.h>
#include <octet/tests/runtime/models.h>

#include <tuple>
#include <vector>

// Models whose weights fit a few bits.

namespace octet::test {

/// One operator with weights of few bits, on scales that are powers of two, so that sums often lie
/// half way between two codes, where contracts differ.
struct FewBits {
  OpCode code = OpCode::fully_connected;
  int bits = 4;
  /// Inputs of a unit of FULLY_CONNECTED, channels of the convolutions.
  std::int32_t depth = 6;
  bool per_channel = true;
};

/// Weights still stored in 8 bits. DEPTHWISE_CONV_2D has as many units as channels, the others 5.
inline IntegerModel few_bits_model(const FewBits& of, std::uint64_t seed) {
  Draw draw(seed);
  RawModelBuilder b;
  const bool dense = of.code == OpCode::fully_connected;
  const bool depthwise = of.code == OpCode::depthwise_conv_2d;
  const std::int32_t units = depthwise ? of.depth : 5;
  const std::vector<std::int32_t> image{1, 3, 3, of.depth};
  const std::int32_t x =
      b.activation("x", dense ? std::vector{1, of.depth} : image, DType::int8, quant(0.03125F, 3));
  b.model.inputs = {x};
  std::vector<std::int32_t> shape{units, of.depth};
  if (!dense) shape = depthwise ? std::vector{1, 2, 2, units} : std::vector{units, 2, 2, of.depth};
  QuantParams scales{{}, {}, depthwise ? 3 : 0, -128, 127};
  for (std::int32_t i = 0; i < (of.per_channel ? units : 1); ++i) {
    scales.scales.push_back(i % 2 == 0 ? 0.0625F : 0.125F);
    scales.zero_points.push_back(0);
  }
  const int half = 1 << (of.bits - 1);
  std::vector<std::int8_t> weights(static_cast<std::size_t>(dense       ? units * of.depth
                                                            : depthwise ? 4 * units
                                                                        : units * 4 * of.depth));
  for (std::int8_t& w : weights) w = static_cast<std::int8_t>(draw.between(-half, half - 1));
  weights.front() = static_cast<std::int8_t>(-half);
  const std::int32_t w = b.constant("w", shape, DType::int8, weights, scales);
  std::vector<std::int32_t> bias(static_cast<std::size_t>(units));
  for (std::int32_t& v : bias) v = draw.between(-300, 300);
  QuantParams bias_scales{{}, {}, 0, 0, 0};
  std::tie(bias_scales.qmin, bias_scales.qmax) = integer_limits(DType::int32);
  for (const float scale : scales.scales) {
    bias_scales.scales.push_back(0.03125F * scale);
    bias_scales.zero_points.push_back(0);
  }
  const std::int32_t bias_index = b.constant("bias", {units}, DType::int32, bias, bias_scales);
  const std::int32_t y =
      b.activation("y", dense ? std::vector{1, units} : std::vector{1, 2, 2, units}, DType::int8,
                   quant(0.25F, -2));
  b.op(of.code, {x, w, bias_index}, y);
  b.model.outputs = {y};
  b.model.metadata["octet.rounding"] = "fp32";
  return b.model;
}

/// Returns the model with its weights stored in `bits` bits, whatever that changes.
inline IntegerModel stored_in(IntegerModel model, int bits) {
  model.tensors[static_cast<std::size_t>(model.operators[0].inputs[1])].stored_bits = bits;
  return model;
}

inline int stored_bits(const IntegerModel& model) {
  return model.tensors[static_cast<std::size_t>(model.operators[0].inputs[1])].stored_bits;
}

}  // namespace octet::test
