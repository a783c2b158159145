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

/// The operator that computes tensor i; null where that is an input.
inline const Operator* maker_of(const IntegerModel& model, std::int32_t i) {
  const auto found = std::ranges::find_if(model.operators, [&](const Operator& op) {
    return std::ranges::find(op.outputs, i) != op.outputs.end();
  });
  return found == model.operators.end() ? nullptr : &*found;
}

/// What code_tensors() lists of the inputs of `op`.
inline std::vector<std::int32_t> computed_codes(const IntegerModel& model, const Operator& op) {
  std::vector<std::int32_t> result;
  for (const std::int32_t i : op.inputs) {
    if (i >= 0 && !tensor_of(model, i).is_constant() && tensor_of(model, i).dtype == DType::int8) {
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
    if (op.code == OpCode::softmax || behind) {
      result.insert(op.outputs.begin(), op.outputs.end());
    }
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
