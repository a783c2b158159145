#pragma once

#include <octet/core/shape.h>

#include <span>
#include <string>
#include <string_view>

// Small pictures inside a page.

namespace octet {

/// An example [height, width], [height, width, 1] or [height, width, 3] as a PNG file; "" for any
/// other shape and for more than 256 pixels along a side. Values from 0 to 1 are shown as they
/// are, all others stretched from their least to their largest.
std::string image_png(std::span<const float> values, const Shape& shape);

/// Base64 (RFC 4648) of bytes.
std::string base64(std::string_view bytes);

}  // namespace octet
