#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/data/bmp_file.h>
#include <octet/train/data/image_file.h>
#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

namespace octet {
namespace {

constexpr std::int64_t kMostImagePixels = std::int64_t{1} << 26U;

struct DestroyDecoder {
  void operator()(void* handle) const { tjDestroy(handle); }
};
using JpegDecoder = std::unique_ptr<void, DestroyDecoder>;

/// A PNG file without the chunks that say how its values are to be shown, which libpng would
/// convert them by: values count as they are.
std::vector<std::uint8_t> plain_png(std::span<const std::uint8_t> bytes) {
  constexpr std::array<std::string_view, 4> kOfDisplay = {"gAMA", "cHRM", "sRGB", "iCCP"};
  // Around the contents of a chunk: their length and its type, and a checksum.
  constexpr std::size_t kHeader = 8;
  constexpr std::size_t kChecksum = 4;
  constexpr std::size_t kSignature = 8;
  std::vector<std::uint8_t> result(bytes.begin(), bytes.begin() + kSignature);
  std::span<const std::uint8_t> rest = bytes.subspan(kSignature);
  while (rest.size() >= kHeader) {
    const std::string_view type(reinterpret_cast<const char*>(rest.data()) + 4, 4);
    const std::size_t length = std::size_t{rest[0]} << 24U | std::size_t{rest[1]} << 16U |
                               std::size_t{rest[2]} << 8U | std::size_t{rest[3]};
    if (type == "IDAT" || length + kHeader + kChecksum > rest.size()) break;
    const auto chunk = rest.first(length + kHeader + kChecksum);
    if (std::ranges::find(kOfDisplay, type) == kOfDisplay.end()) {
      result.insert(result.end(), chunk.begin(), chunk.end());
    }
    rest = rest.subspan(chunk.size());
  }
  result.insert(result.end(), rest.begin(), rest.end());
  return result;
}

/// A PNG file whose header has been read.
class Png {
 public:
  Png(std::span<const std::uint8_t> bytes, const std::string& file)
      : file_(file), bytes_(plain_png(bytes)) {
    image_.version = PNG_IMAGE_VERSION;
    if (png_image_begin_read_from_memory(&image_, bytes_.data(), bytes_.size()) == 0) fail();
    image_.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  }
  ~Png() { png_image_free(&image_); }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;

  ImageInfo info() const {
    return {static_cast<Index>(image_.height), static_cast<Index>(image_.width),
            (image_.format & PNG_FORMAT_FLAG_COLOR) == 0};
  }
  std::vector<std::uint8_t> decode() {
    const bool has_alpha = (image_.format & PNG_FORMAT_FLAG_ALPHA) != 0;
    image_.format = has_alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
    std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(image_));
    if (png_image_finish_read(&image_, nullptr, pixels.data(), 0, nullptr) == 0) fail();
    // A file that is cut is a warning there.
    if (image_.warning_or_error != 0) fail();
    if (!has_alpha) return pixels;
    const std::size_t count = pixels.size() / 4;
    for (std::size_t i = 1; i < count; ++i) {
      std::copy_n(pixels.begin() + static_cast<std::ptrdiff_t>(4 * i), 3,
                  pixels.begin() + static_cast<std::ptrdiff_t>(3 * i));
    }
    pixels.resize(3 * count);
    return pixels;
  }

 private:
  [[noreturn]] void fail() const {
    throw FormatError(fmt::format("{}: the PNG file is damaged: {}", file_, image_.message));
  }

  const std::string& file_;
  std::vector<std::uint8_t> bytes_;
  png_image image_{};
};

bool is_png(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 8 && png_sig_cmp(bytes.data(), 0, 8) == 0;
}

void require_jpeg(std::span<const std::uint8_t> bytes, const std::string& file) {
  if (bytes.size() >= 3 && bytes[0] == 0xFF && bytes[1] == 0xD8 && bytes[2] == 0xFF) return;
  throw FormatError(fmt::format("{}: expected a JPEG, PNG or BMP file, found {}", file,
                                bytes.empty() ? "an empty file" : "another"));
}

[[noreturn]] void fail_jpeg(void* decoder, const std::string& file) {
  throw FormatError(fmt::format("{}: the JPEG file is damaged or of a kind that is not read: {}",
                                file,
                                decoder == nullptr ? tjGetErrorStr() : tjGetErrorStr2(decoder)));
}

ImageInfo jpeg_info(void* decoder, std::span<const std::uint8_t> bytes, const std::string& file) {
  int width = 0;
  int height = 0;
  int subsampling = 0;
  int colors = 0;
  if (decoder == nullptr || tjDecompressHeader3(decoder, bytes.data(), bytes.size(), &width,
                                                &height, &subsampling, &colors) != 0) {
    fail_jpeg(decoder, file);
  }
  if (colors == TJCS_CMYK || colors == TJCS_YCCK) {
    throw FormatError(fmt::format(
        "{}: expected a JPEG file of colours or grey, found CMYK, which printers take; save it as "
        "RGB",
        file));
  }
  return {height, width, colors == TJCS_GRAY};
}

}  // namespace

bool reads_images() { return true; }

void require_pixels(const ImageInfo& info, const std::string& file) {
  if (info.height > 0 && info.width > 0 && info.height <= kMostImagePixels / info.width) return;
  throw FormatError(fmt::format("{}: expected an image of 1 to {} pixels, found {} x {}", file,
                                kMostImagePixels, info.height, info.width));
}

ImageInfo image_info(std::span<const std::uint8_t> bytes, const std::string& file) {
  if (is_bmp(bytes)) return bmp_info(bytes, file);
  ImageInfo info;
  if (is_png(bytes)) {
    info = Png(bytes, file).info();
  } else {
    require_jpeg(bytes, file);
    info = jpeg_info(JpegDecoder(tjInitDecompress()).get(), bytes, file);
  }
  require_pixels(info, file);
  return info;
}

std::vector<std::uint8_t> decode_image(std::span<const std::uint8_t> bytes,
                                       const std::string& file) {
  if (is_bmp(bytes)) return decode_bmp(bytes, file);
  if (is_png(bytes)) {
    Png png(bytes, file);
    require_pixels(png.info(), file);
    return png.decode();
  }
  require_jpeg(bytes, file);
  const JpegDecoder decoder(tjInitDecompress());
  const ImageInfo info = jpeg_info(decoder.get(), bytes, file);
  require_pixels(info, file);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(info.height * info.width * 3));
  // A progressive file of many scans would take hours.
  constexpr int kFlags = TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS;
  if (tjDecompress2(decoder.get(), bytes.data(), bytes.size(), pixels.data(),
                    static_cast<int>(info.width), 0, static_cast<int>(info.height), TJPF_RGB,
                    kFlags) != 0) {
    fail_jpeg(decoder.get(), file);
  }
  return pixels;
}

}  // namespace octet
