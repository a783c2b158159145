#pragma once

#include <octet/train/data/resize_image.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// Small pictures inside a page.

namespace octet {

/// A PNG file of the pixels [height, width, channels], of 1 (grey) or 3 (red, green and blue)
/// channels. Throws InvalidArgument for other numbers of channels and for another number of pixels
/// than `size` says.
std::string png_file(std::span<const std::uint8_t> pixels, const PixelSize& size);

/// Base64 (RFC 4648) of bytes.
std::string base64(std::string_view bytes);

}  // namespace octet
