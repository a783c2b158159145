#pragma once

#include <octet/runtime/operators/transpose_conv.h>
#include <octet/tests/interop/case_tensors.h>

#include <algorithm>

// Convolutions in models that not every runtime computes alike.

namespace octet::interop {

/// The kernels of tfjs-tflite, which are older, compute wrong values where a stride is larger than
/// the filter.
inline bool skips_pixels(const IntegerModel& model) {
  return std::ranges::any_of(model.operators, [&](const Operator& op) {
    const auto skips = [&](const auto& attributes) {
      const auto& filter = tensor_of(model, op.inputs[1]).shape;
      return attributes.stride_h > filter[1] || attributes.stride_w > filter[2];
    };
    if (op.code == OpCode::conv_2d) return skips(op.as<Conv2DAttributes>());
    return op.code == OpCode::depthwise_conv_2d && skips(op.as<DepthwiseConv2DAttributes>());
  });
}

inline bool is_transposed(const Operator& op) { return op.code == OpCode::transpose_conv; }
/// Which the XNNPACK of tfjs-tflite rounds otherwise.
inline bool is_mean(const Operator& op) { return op.code == OpCode::mean; }

/// A TRANSPOSE_CONV that XNNPACK does not take is rounded twice under every contract, which ONNX
/// files in style exact do not.
inline bool rounds_twice(const IntegerModel& model) {
  return std::ranges::any_of(model.operators, [&](const Operator& op) {
    return is_transposed(op) && !detail::xnnpack_takes_transpose_conv({model, op});
  });
}

}  // namespace octet::interop
