#pragma once

#include <octet/runtime/integer_model.h>

#include <cstddef>
#include <cstdint>

namespace octet {

/// What a model's operator costs on one sample of the model's own shapes.
struct OperatorCost {
  /// Products of an input and a weight, each added to a sum; padding counts as input. 0 for an
  /// operator without weights.
  std::int64_t multiply_adds = 0;
  /// Bytes of the constants that the operator reads: weights and bias, and shapes where it has
  /// some.
  std::size_t constant_bytes = 0;
};

/// Returns the cost of operator `index` of a valid model. Throws InvalidArgument for an index
/// outside.
[[nodiscard]] OperatorCost operator_cost(const IntegerModel& model, std::size_t index);

/// Returns the cost of all operators; a constant that several of them read counts once.
[[nodiscard]] OperatorCost model_cost(const IntegerModel& model);

}  // namespace octet
