#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/report/png.h>
#include <zlib.h>

namespace octet {
namespace {

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
    throw Error("png_file: zlib could not deflate a picture");
  }
  result.resize(size);
  return result;
}

/// Rows of pixels, a filter byte of 0 in front of each.
std::string rows_of(std::span<const std::uint8_t> pixels, std::size_t row) {
  std::string result;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    if (i % row == 0) result += '\0';
    result += static_cast<char>(pixels[i]);
  }
  return result;
}

}  // namespace

std::string png_file(std::span<const std::uint8_t> pixels, const PixelSize& size) {
  const bool has_pixels = size.height > 0 && size.width > 0;
  if (!has_pixels || (size.channels != 1 && size.channels != 3) ||
      std::ssize(pixels) != size.height * size.width * size.channels) {
    throw InvalidArgument(
        fmt::format("png_file: expected {} x {} pixels of 1 or 3 channels, found {} values of {} "
                    "channels",
                    size.height, size.width, pixels.size(), size.channels));
  }
  std::string header;
  append_number(header, static_cast<std::uint32_t>(size.width));
  append_number(header, static_cast<std::uint32_t>(size.height));
  // 8 bits; gray or RGB; the only methods there are; not interlaced.
  header += {'\x08', size.channels == 3 ? '\x02' : '\0', '\0', '\0', '\0'};
  std::string file = "\x89PNG\r\n\x1a\n";
  append_chunk(file, "IHDR", header);
  append_chunk(file, "IDAT",
               deflated(rows_of(pixels, static_cast<std::size_t>(size.width * size.channels))));
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
