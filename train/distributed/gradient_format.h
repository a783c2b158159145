#pragma once

#include <string_view>
#include <vector>

namespace octet {

/// How the gradients of shards are added and sent; see docs/distributed.md.
enum class GradientFormat {
  float32,
  /// A byte each, and a float32 scale for every 256 of a parameter. The rounding error is added to
  /// the gradient of the next step (error feedback).
  int8
};

namespace detail {

/// The rounding errors of quantized gradients so far, by shard of this rank: one for each element.
/// Empty, and not needed, where gradients are floats.
using GradientErrors = std::vector<std::vector<float>>;

}  // namespace detail

/// "float32" or "int8".
std::string_view to_string(GradientFormat format);
/// The format of that name. Throws InvalidArgument for another.
GradientFormat parse_gradient_format(std::string_view name);

}  // namespace octet
