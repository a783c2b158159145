#pragma once

#include <octet/core/shape.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace octet {

/// Whether this build reads JPEG and PNG files (OCTET_IMAGES).
bool reads_images();

/// What the header of a JPEG or PNG file says.
struct ImageInfo {
  Index height = 0;
  Index width = 0;
  bool is_grey = false;
};

/// Throws FormatError, which names `file`, for bytes that are neither, and for more than 2^26
/// pixels; InvalidArgument where this build reads no images.
ImageInfo image_info(std::span<const std::uint8_t> bytes, const std::string& file);

/// Decodes a JPEG or PNG file: [height, width, 3], red, green and blue, whatever the file holds.
/// What is transparent stands in front of black. Throws as image_info(), and FormatError for
/// damaged files, cut ones too.
std::vector<std::uint8_t> decode_image(std::span<const std::uint8_t> bytes,
                                       const std::string& file);

}  // namespace octet
