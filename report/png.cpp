#include <octet/core/error.h>
#include <octet/report/png.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace octet {
namespace {

constexpr Index kMostPixels = 256;

void append_number(std::string& bytes, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes += static_cast<char>(static_cast<unsigned char>(value >> shift));
  }
}

const Bytef* bytes_of(const std::string& text) {
  return reinterpret_cast<const Bytef*>(text.data());
}

void append_chunk(std::string& file, const char* type, const std::string& data) {
  append_number(file, static_cast<std::uint32_t>(data.size()));
  const std::string body = type + data;
  file += body;
  append_number(
      file, static_cast<std::uint32_t>(crc32(0L, bytes_of(body), static_cast<uInt>(body.size()))));
}

std::string deflated(const std::string& rows) {
  uLongf size = compressBound(static_cast<uLong>(rows.size()));
  std::string result(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(result.data()), &size, bytes_of(rows),
                static_cast<uLong>(rows.size()), Z_BEST_COMPRESSION) != Z_OK) {
    throw Error("image_png: zlib could not deflate a picture");
  }
  result.resize(size);
  return result;
}

/// Rows of pixels, a filter byte of 0 in front of each.
std::string rows_of(std::span<const float> values, std::size_t row) {
  auto [low, high] = std::ranges::minmax(values);
  if (low >= 0.0F && high <= 1.0F) {
    low = 0.0F;
    high = 1.0F;
  }
  const float span = high > low ? high - low : 1.0F;
  std::string result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % row == 0) result += '\0';
    const float shade = std::clamp((values[i] - low) / span * 255.0F, 0.0F, 255.0F);
    result += static_cast<char>(static_cast<unsigned char>(std::lround(shade)));
  }
  return result;
}

}  // namespace

std::string image_png(std::span<const float> values, const Shape& shape) {
  const bool is_image =
      shape.rank() == 2 || (shape.rank() == 3 && (shape[2] == 1 || shape[2] == 3));
  if (!is_image || std::max(shape[0], shape[1]) > kMostPixels || shape.size() == 0 ||
      values.size() != static_cast<std::size_t>(shape.size()) ||
      !std::ranges::all_of(values, [](float x) { return std::isfinite(x); })) {
    return "";
  }
  const Index channels = shape.rank() == 3 ? shape[2] : 1;
  std::string header;
  append_number(header, static_cast<std::uint32_t>(shape[1]));
  append_number(header, static_cast<std::uint32_t>(shape[0]));
  // 8 bits; gray or RGB; the only methods there are; not interlaced.
  header += {'\x08', channels == 3 ? '\x02' : '\0', '\0', '\0', '\0'};
  std::string file = "\x89PNG\r\n\x1a\n";
  append_chunk(file, "IHDR", header);
  append_chunk(file, "IDAT",
               deflated(rows_of(values, static_cast<std::size_t>(shape[1] * channels))));
  append_chunk(file, "IEND", "");
  return file;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const std::uint32_t byte =
          i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U;
      group = group << 8 | byte;
    }
    for (std::size_t k = 0; k < 4; ++k) {
      result += i + k <= bytes.size() ? kDigits[group >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return result;
}

}  // namespace octet
