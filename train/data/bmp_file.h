#pragma once

#include <octet/train/data/image_file.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace octet {

/// Whether the bytes begin as a BMP file does.
bool is_bmp(std::span<const std::uint8_t> bytes);

/// Reads the header of a BMP file without compression: of 24 bits a pixel, or 32 with blue, green,
/// red and an unused byte, or 8 with a palette, which is grey where all its colors are; rows from
/// the bottom up, or down where the height is negative. Throws FormatError, which names `file`, for
/// others, such as ones of 1, 4 or 16 bits, compressed or transparent ones and those of OS/2, and
/// for damaged ones.
ImageInfo bmp_info(std::span<const std::uint8_t> bytes, const std::string& file);

/// Decodes such a file: [height, width, 3], red, green and blue. Throws as bmp_info(), and for
/// files that end before their last pixel and colors that the palette lacks.
std::vector<std::uint8_t> decode_bmp(std::span<const std::uint8_t> bytes, const std::string& file);

}  // namespace octet
