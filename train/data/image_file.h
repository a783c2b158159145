#pragma once

#include <octet/core/shape.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace octet {

/// Whether this build reads JPEG, PNG and BMP files (OCTET_IMAGES).
bool reads_images();

/// Holds what the header of a JPEG, PNG or BMP file says.
struct ImageInfo {
  Index height = 0;
  Index width = 0;
  bool is_grey = false;
};

/// Throws FormatError, which names `file`, for an image of no pixels or of more than 2^26.
void require_pixels(const ImageInfo& info, const std::string& file);

/// Throws FormatError, which names `file`, for bytes that are none of them, for JPEG files of CMYK
/// and BMP files that bmp_info() refuses, and as require_pixels(); InvalidArgument where this build
/// reads no images.
ImageInfo image_info(std::span<const std::uint8_t> bytes, const std::string& file);

/// Decodes a JPEG, PNG or BMP file: [height, width, 3], red, green and blue, whatever the file
/// holds. Values are those of the file, whatever it says of gamma or a color profile; 16 bits v
/// become v / 257, rounded to the nearest. Opacity is dropped, and so is the orientation that EXIF
/// gives. Throws as image_info(), and FormatError for damaged files, cut ones too.
std::vector<std::uint8_t> decode_image(std::span<const std::uint8_t> bytes,
                                       const std::string& file);

}  // namespace octet
