#pragma once

#include <string_view>
#include <vector>

namespace octet {

/// How the gradients of shards are added and sent; see docs/distributed.md.
enum class GradientFormat {
  float32,
  /// A byte each, and a float32 scale for every 256 of a parameter. What a code leaves out is added
  /// to the gradient of the next step (error feedback).
  int8
};

namespace detail {

/// What the codes of gradients have left out so far, by shard of this rank: all elements. Empty,
/// and not needed, where gradients are floats.
using GradientErrors = std::vector<std::vector<float>>;

}  // namespace detail

/// "float32" or "int8".
std::string_view to_string(GradientFormat format);
/// The format of that name. Throws InvalidArgument for another.
GradientFormat parse_gradient_format(std::string_view name);

}  // namespace octet
