#pragma once

#include <octet/core/tensor.h>
#include <octet/core/window.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

// Parts of ops that slide a window over images [n, h, w, c].

namespace octet {

/// The largest extent of an image and of what is computed of one, 2^31 - 1.
inline constexpr Index kMostExtent = std::numeric_limits<std::int32_t>::max();

/// Throws InvalidArgument that names `operation` unless x is [n, h, w, c] with h, w and c between 1
/// and kMostExtent.
void check_images(std::string_view operation, const Tensor& x);

/// Throws InvalidArgument that names `operation` unless the bias is undefined or [filters].
void check_filter_bias(std::string_view operation, const Tensor& bias, Index filters);

/// The window of `kernel` taps (height, width) over images that check_images() takes. Throws what
/// slide_window() throws, with the operation and the axis named.
Window window_over(std::string_view operation, const Tensor& x, const std::array<Index, 2>& kernel,
                   const std::array<Index, 2>& stride, const std::array<Index, 2>& dilation,
                   Padding padding);

}  // namespace octet
