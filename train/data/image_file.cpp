#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/data/bmp_file.h>
#include <octet/train/data/image_file.h>
#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <memory>

namespace octet {
namespace {

constexpr std::int64_t kMostImagePixels = std::int64_t{1} << 26U;

struct DestroyDecoder {
  void operator()(void* handle) const { tjDestroy(handle); }
};
using JpegDecoder = std::unique_ptr<void, DestroyDecoder>;

/// A PNG file whose header has been read.
class Png {
 public:
  Png(std::span<const std::uint8_t> bytes, const std::string& file) : file_(file) {
    image_.version = PNG_IMAGE_VERSION;
    if (png_image_begin_read_from_memory(&image_, bytes.data(), bytes.size()) == 0) fail();
  }
  ~Png() { png_image_free(&image_); }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;

  ImageInfo info() const {
    return {static_cast<Index>(image_.height), static_cast<Index>(image_.width),
            (image_.format & PNG_FORMAT_FLAG_COLOR) == 0};
  }
  std::vector<std::uint8_t> decode() {
    image_.format = PNG_FORMAT_RGB;
    std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(image_));
    const png_color black{0, 0, 0};
    if (png_image_finish_read(&image_, &black, pixels.data(), 0, nullptr) == 0) fail();
    // A file that is cut is a warning there.
    if (image_.warning_or_error != 0) fail();
    return pixels;
  }

 private:
  [[noreturn]] void fail() const {
    throw FormatError(fmt::format("{}: the PNG file is damaged: {}", file_, image_.message));
  }

  const std::string& file_;
  png_image image_{};
};

bool is_png(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 8 && png_sig_cmp(bytes.data(), 0, 8) == 0;
}

void require_jpeg(std::span<const std::uint8_t> bytes, const std::string& file) {
  if (bytes.size() >= 3 && bytes[0] == 0xFF && bytes[1] == 0xD8 && bytes[2] == 0xFF) return;
  throw FormatError(fmt::format("{}: expected a JPEG, PNG or BMP file, found another", file));
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
