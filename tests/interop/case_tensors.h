#pragma once

#include <octet/runtime/integer_model.h>
#include <octet/tests/interop/reference_kernels.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <vector>

// Which tensors of a model are compared.

namespace octet::interop {

/// Computed tensors of codes, in order: every layer.
inline std::vector<std::int32_t> code_tensors(const IntegerModel& model) {
  std::vector<std::int32_t> result;
  for (std::int32_t i = 0; i < std::ssize(model.tensors); ++i) {
    if (!tensor_of(model, i).is_constant() && tensor_of(model, i).dtype == DType::int8) {
      result.push_back(i);
    }
  }
  return result;
}

/// Tensors that a softmax has a part in: ONNX computes it in floating point.
inline std::set<std::int32_t> behind_softmax(const IntegerModel& model) {
  std::set<std::int32_t> result;
  for (const Operator& op : model.operators) {
    const bool behind =
        std::ranges::any_of(op.inputs, [&](std::int32_t i) { return result.contains(i); });
    if (op.code == OpCode::softmax || behind) result.insert(op.outputs[0]);
  }
  return result;
}

/// ONNX Runtime 1.30 crashes at optimisation level "all" on a softmax over one class.
inline bool softmax_of_one(const IntegerModel& model) {
  return std::ranges::any_of(model.operators, [&](const Operator& op) {
    return op.code == OpCode::softmax && tensor_of(model, op.outputs[0]).shape.back() == 1;
  });
}

}  // namespace octet::interop
