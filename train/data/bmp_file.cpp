#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/data/bmp_file.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace octet {
namespace {

constexpr std::size_t kFileHeader = 14;
constexpr std::uint32_t kInfoHeader = 40;
constexpr std::uint32_t kOs2Header = 12;
constexpr std::uint32_t kNotCompressed = 0;
/// The 32 bits of a pixel are divided as masks say.
constexpr std::uint32_t kBitFields = 3;
constexpr std::size_t kColorBytes = 4;

/// A BMP file whose header has been read.
class Bmp {
 public:
  Bmp(std::span<const std::uint8_t> bytes, const std::string& file) : bytes_(bytes), file_(file) {
    constexpr std::uint32_t kHeaders[] = {kInfoHeader, 52, 56, 108, 124};
    const std::uint32_t header = number(kFileHeader);
    if (header == kOs2Header) refuse("a header of Windows", "one of OS/2");
    if (std::ranges::find(kHeaders, header) == std::end(kHeaders)) {
      refuse("a header of 40, 52, 56, 108 or 124 bytes", fmt::format("{}", header));
    }
    // Two's complement: rows that go down have a negative height.
    const auto height = static_cast<std::int32_t>(number(22));
    goes_down_ = height < 0;
    info_.height = goes_down_ ? -Index{height} : Index{height};
    info_.width = static_cast<std::int32_t>(number(18));
    bits_ = number(26) >> 16U;
    first_color_ = kFileHeader + header;
    check_kind(header);
    if (bits_ == 8) read_palette();
    pixels_ = number(10);
    require_pixels(info_, file);
  }

  const ImageInfo& info() const { return info_; }

  std::vector<std::uint8_t> decode() const {
    const auto height = static_cast<std::size_t>(info_.height);
    const auto width = static_cast<std::size_t>(info_.width);
    const std::size_t stride = (width * bits_ + 31) / 32 * 4;
    if (pixels_ < first_color_ + colors_ * kColorBytes || pixels_ > bytes_.size() ||
        (bytes_.size() - pixels_) / stride < height) {
      refuse(
          fmt::format("{} rows of {} bytes behind the header", height, stride),
          fmt::format("a file of {} bytes, the rows of which begin at {}", bytes_.size(), pixels_));
    }
    std::vector<std::uint8_t> result;
    result.reserve(height * width * 3);
    for (std::size_t y = 0; y < height; ++y) {
      const std::size_t row = goes_down_ ? y : height - 1 - y;
      append_row(bytes_.subspan(pixels_ + row * stride, stride), width, result);
    }
    return result;
  }

 private:
  [[noreturn]] void refuse(std::string_view expected, std::string_view found) const {
    throw FormatError(
        fmt::format("{}: expected a BMP file with {}, found {}", file_, expected, found));
  }

  /// A number of 4 bytes, the lowest first.
  std::uint32_t number(std::size_t at) const {
    if (bytes_.size() < at + 4) {
      refuse("a whole header", fmt::format("a file of {} bytes", bytes_.size()));
    }
    std::uint32_t value = 0;
    for (std::size_t i = 4; i-- > 0;) value = value << 8U | bytes_[at + i];
    return value;
  }

  void check_kind(std::uint32_t header) {
    if (bits_ != 8 && bits_ != 24 && bits_ != 32) {
      refuse("8, 24 or 32 bits a pixel", fmt::format("{}", bits_));
    }
    const std::uint32_t compression = number(30);
    const bool has_masks = compression == kBitFields && bits_ == 32;
    if (compression != kNotCompressed && !has_masks) {
      refuse("pixels without compression", fmt::format("the compression {}", compression));
    }
    if (!has_masks) return;
    if (number(54) != 0xFF0000U || number(58) != 0xFF00U || number(62) != 0xFFU) {
      refuse("blue, green and red in this order", "masks of another order");
    }
    if (header >= 56 && number(66) != 0) refuse("no transparency", "a mask of it");
    // The masks stand behind the short header, and in the longer ones.
    if (header == kInfoHeader) first_color_ += 3 * sizeof(std::uint32_t);
  }

  void read_palette() {
    colors_ = number(46) == 0 ? 256 : number(46);
    if (colors_ > 256) refuse("at most 256 colors", fmt::format("{}", colors_));
    info_.is_grey = true;
    for (std::size_t i = 0; i < colors_; ++i) {
      const std::uint32_t color = number(first_color_ + i * kColorBytes);
      const std::uint32_t blue = color & 0xFFU;
      info_.is_grey = info_.is_grey && (color & 0xFFFFFFU) == blue * 0x10101U;
    }
  }

  void append_row(std::span<const std::uint8_t> row, std::size_t width,
                  std::vector<std::uint8_t>& to) const {
    for (std::size_t x = 0; x < width; ++x) {
      std::span<const std::uint8_t> pixel = row.subspan(x * bits_ / 8);
      if (bits_ == 8) {
        if (pixel[0] >= colors_) {
          refuse(fmt::format("pixels of its {} colors", colors_), fmt::format("{}", pixel[0]));
        }
        pixel = bytes_.subspan(first_color_ + pixel[0] * kColorBytes);
      }
      to.insert(to.end(), {pixel[2], pixel[1], pixel[0]});
    }
  }

  std::span<const std::uint8_t> bytes_;
  const std::string& file_;
  ImageInfo info_;
  bool goes_down_ = false;
  std::uint32_t bits_ = 0;
  std::size_t pixels_ = 0;
  std::size_t first_color_ = 0;
  std::size_t colors_ = 0;
};

}  // namespace

bool is_bmp(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 'B' && bytes[1] == 'M';
}

ImageInfo bmp_info(std::span<const std::uint8_t> bytes, const std::string& file) {
  return Bmp(bytes, file).info();
}

std::vector<std::uint8_t> decode_bmp(std::span<const std::uint8_t> bytes, const std::string& file) {
  return Bmp(bytes, file).decode();
}

}  // namespace octet
