#pragma once

#include <octet/core/quant/activation_range.h>
#include <octet/core/quant/requantize.h>
#include <octet/runtime/kernel.h>

#include <cstdint>
#include <span>
#include <vector>

namespace octet::detail {

/// The numbers of an int8 FULLY_CONNECTED or CONV_2D of 1 x 1, for whoever runs it or writes it
/// out: y = clamp(rescale(sum (x - input_zero_point)(w - weight_zero_point) + bias) +
/// output_zero_point, range.lo, range.hi).
struct FullyConnectedNumbers {
  std::int64_t rows = 0;
  std::int64_t depth = 0;
  std::int64_t units = 0;
  std::int32_t input_zero_point = 0;
  std::int32_t weight_zero_point = 0;
  std::int32_t output_zero_point = 0;
  /// [units, depth]; the model's own memory.
  std::span<const std::int8_t> weights;
  /// One per unit; zeros where the operator has none.
  std::vector<std::int32_t> bias;
  Requantizer requantizer;
  ActivationRange range;
  /// The largest value of either sign that any sum, part of a sum included, can reach.
  std::int64_t largest_sum = 0;
};

/// Throws FormatError where an input could bring a sum past int32: runtimes would compute something
/// else, each its own.
FullyConnectedNumbers fully_connected_numbers(const KernelSource& source);

}  // namespace octet::detail
