#pragma once

#include <octet/core/window.h>
#include <octet/deploy/c/operators.h>

#include <string>

// Windows over images [batch, height, width, channels] in C source.

namespace octet::detail {

/// "8 x 8 x 3, window 2 x 2, stride 1 x 1".
std::string window_text(const Window& window, std::int64_t channels);

/// @rows@ of the output in all images, @image@, the codes of one, @channels@; @height@, @width@,
/// @output_height@, @output_width@; and of either axis @stride_y@, @before_y@, @kernel_y@, its
/// taps, and @last_y@, the last place at which a window without dilation lies inside.
Fillings window_fillings(const Window& window, const Operands& operands, Fillings fillings);

}  // namespace octet::detail
