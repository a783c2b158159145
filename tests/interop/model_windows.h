#pragma once

#include <octet/deploy/runtime_warnings.h>
#include <octet/runtime/operators/transpose_conv.h>
#include <octet/tests/interop/case_tensors.h>

#include <algorithm>
#include <string>

// Operators of models that not every runtime computes alike.

namespace octet::interop {

/// Whether a .tflite runtime refuses the model or computes it wrongly, of which its user is warned.
inline bool is_warned_of(const IntegerModel& model) {
  return std::ranges::any_of(runtime_warnings(model), [](const std::string& warning) {
    return warning.find("ONNX Runtime") == std::string::npos;
  });
}

inline bool is_transposed(const Operator& op) { return op.code == OpCode::transpose_conv; }
/// Which the XNNPACK of tfjs-tflite rounds otherwise.
inline bool is_mean(const Operator& op) { return op.code == OpCode::mean; }

/// A TRANSPOSE_CONV that XNNPACK does not take is rounded twice under every contract, and so is a
/// BATCH_MATMUL by a second operand of another zero point than 0: ONNX files in style exact round
/// neither twice.
inline bool rounds_twice(const IntegerModel& model) {
  return std::ranges::any_of(model.operators, [&](const Operator& op) {
    if (op.code == OpCode::batch_matmul) {
      return detail::Operands(model, op).input(1).quantization.zero_point() != 0;
    }
    return is_transposed(op) && !detail::xnnpack_takes_transpose_conv({model, op});
  });
}

}  // namespace octet::interop
