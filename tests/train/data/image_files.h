#pragma once

#include <octet/tests/train/data/idx_files.h>
#include <zlib.h>

#include <cstdint>
#include <string_view>

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

/// A PNG file of 8 bits a channel: 1 channel is grey, 3 are red, green and blue, 4 with alpha.
inline Bytes png_bytes(std::uint32_t height, std::uint32_t width, std::uint32_t channels,
                       const Bytes& pixels) {
  Bytes file = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  Bytes header;
  put_big_endian(header, width);
  put_big_endian(header, height);
  const std::uint8_t kind = channels == 1 ? 0 : channels == 3 ? 2 : 6;
  header.insert(header.end(), {8, kind, 0, 0, 0});
  put_png_chunk(file, "IHDR", header);
  Bytes rows;
  const auto stride = static_cast<std::ptrdiff_t>(width) * channels;
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

}  // namespace octet::test
