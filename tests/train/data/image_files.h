#pragma once

#include <octet/tests/train/data/idx_files.h>
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace octet::test {

inline void put_big_endian(Bytes& to, std::uint32_t value) {
  for (const int shift : {24, 16, 8, 0}) to.push_back(static_cast<std::uint8_t>(value >> shift));
}

inline void put_png_chunk(Bytes& to, std::string_view type, const Bytes& contents) {
  put_big_endian(to, static_cast<std::uint32_t>(contents.size()));
  const std::size_t begin = to.size();
  to.insert(to.end(), type.begin(), type.end());
  to.insert(to.end(), contents.begin(), contents.end());
  put_big_endian(to, static_cast<std::uint32_t>(
                         crc32(0, to.data() + begin, static_cast<uInt>(to.size() - begin))));
}

/// A chunk of a PNG file in front of its pixels.
struct PngChunk {
  std::string_view type;
  Bytes contents;
};

/// A PNG file of 8 or 16 bits a channel: 1 channel is grey, 2 with alpha, 3 are red, green and
/// blue, 4 with alpha.
inline Bytes png_bytes(std::uint32_t height, std::uint32_t width, std::uint32_t channels,
                       const Bytes& pixels, std::uint8_t bits = 8,
                       const std::vector<PngChunk>& chunks = {}) {
  Bytes file = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  Bytes header;
  put_big_endian(header, width);
  put_big_endian(header, height);
  constexpr std::uint8_t kKinds[] = {0, 4, 2, 6};
  header.insert(header.end(), {bits, kKinds[channels - 1], 0, 0, 0});
  put_png_chunk(file, "IHDR", header);
  for (const PngChunk& chunk : chunks) put_png_chunk(file, chunk.type, chunk.contents);
  Bytes rows;
  const auto stride = static_cast<std::ptrdiff_t>(width) * channels * bits / 8;
  for (auto from = pixels.begin(); from < pixels.end(); from += stride) {
    rows.push_back(0);
    rows.insert(rows.end(), from, from + stride);
  }
  Bytes packed(compressBound(rows.size()));
  uLongf size = packed.size();
  EXPECT_EQ(compress(packed.data(), &size, rows.data(), rows.size()), Z_OK);
  packed.resize(size);
  put_png_chunk(file, "IDAT", packed);
  put_png_chunk(file, "IEND", {});
  return file;
}

inline void put_little_endian(Bytes& to, std::uint32_t value) {
  for (const int shift : {0, 8, 16, 24}) to.push_back(static_cast<std::uint8_t>(value >> shift));
}

struct BmpForm {
  std::int32_t height = 0;
  std::int32_t width = 0;
  std::uint32_t bits = 24;
  bool goes_down = false;
};

/// A BMP file of red, green and blue [height, width, 3], or where `bits` is 8 of places
/// [height, width] in a palette of such colors.
inline Bytes bmp_bytes(const BmpForm& form, const Bytes& pixels, const Bytes& palette = {}) {
  const auto colors = static_cast<std::uint32_t>(palette.size() / 3);
  const std::int32_t height = form.goes_down ? -form.height : form.height;
  Bytes file = {'B', 'M'};
  for (const std::uint32_t value :
       {0U, 0U, 54 + 4 * colors, 40U, static_cast<std::uint32_t>(form.width),
        static_cast<std::uint32_t>(height), form.bits << 16U | 1U, 0U, 0U, 0U, 0U, colors, 0U}) {
    put_little_endian(file, value);
  }
  const auto put_color = [&](const Bytes& from, std::size_t at, bool has_fourth) {
    file.insert(file.end(), {from[at + 2], from[at + 1], from[at]});
    if (has_fourth) file.push_back(0xAB);
  };
  for (std::size_t i = 0; i < palette.size(); i += 3) put_color(palette, i, true);
  for (std::int32_t i = 0; i < form.height; ++i) {
    const std::int32_t row = form.goes_down ? i : form.height - 1 - i;
    const std::size_t begin = file.size();
    for (std::int32_t x = 0; x < form.width; ++x) {
      const auto at = static_cast<std::size_t>(std::ptrdiff_t{row} * form.width + x);
      if (form.bits == 8) {
        file.push_back(pixels[at]);
      } else {
        put_color(pixels, 3 * at, form.bits == 32);
      }
    }
    while ((file.size() - begin) % 4 != 0) file.push_back(0xCD);
  }
  return file;
}

}  // namespace octet::test
