#pragma once

#include <octet/core/window.h>
#include <octet/deploy/onnx/operators.h>

#include <array>
#include <vector>

// Images [batch, height, width, channels] and windows over them, as ONNX has them: channels in
// front of the rest.

namespace octet::detail {

/// [batch, channels, height, width].
std::string channels_first(OnnxNodes& nodes, const std::string& x, const std::string& name);
/// [batch, height, width, channels].
std::string channels_last(OnnxNodes& nodes, const std::string& x, const std::string& name);
void channels_last_to(OnnxNodes& nodes, const std::string& x, std::int32_t out);

/// A constant of four axes.
struct Filters {
  OnnxNodes::Extents shape;
  std::vector<std::uint8_t> data;
};
/// The numbers of a tensor of four axes with its axes in `order`.
Filters in_order(const ModelTensor& tensor, const std::array<std::size_t, 4>& order);

/// kernel_shape, strides and pads.
std::vector<OnnxAttribute> window_attributes(const Window& window);

/// A Conv of floats sums whole numbers of up to 2^24 exactly. Throws InvalidArgument, naming the
/// operator, where `count` numbers of up to `most` could add up to more.
void require_exact_sums(const Operands& operands, std::int64_t count, std::int64_t most);

}  // namespace octet::detail
