#include <octet/core/error.h>
#include <octet/train/data/image_file.h>

namespace octet {
namespace {

[[noreturn]] void refuse() {
  throw InvalidArgument(
      "this build of Octet reads no JPEG, PNG and BMP files: configure it with -DOCTET_IMAGES=ON, "
      "which "
      "needs libturbojpeg0-dev and libpng-dev");
}

}  // namespace

bool reads_images() { return false; }

ImageInfo image_info(std::span<const std::uint8_t> /*bytes*/, const std::string& /*file*/) {
  refuse();
}

std::vector<std::uint8_t> decode_image(std::span<const std::uint8_t> /*bytes*/,
                                       const std::string& /*file*/) {
  refuse();
}

}  // namespace octet
