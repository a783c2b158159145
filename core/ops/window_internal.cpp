#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/ops/window_internal.h>

namespace octet {

void check_images(std::string_view operation, const Tensor& x) {
  const Shape& shape = x.shape();
  if (shape.rank() != 4) {
    const char* hint = shape.rank() == 3   ? "; a single image, or channels left out?"
                       : shape.rank() == 2 ? "; flattened before?"
                                           : "";
    throw InvalidArgument(fmt::format("{}: expected images [n, h, w, c], found shape {}{}",
                                      operation, shape.to_string(), hint));
  }
  const auto fits = [](Index extent) { return extent >= 1 && extent <= kMostExtent; };
  if (fits(shape[1]) && fits(shape[2]) && fits(shape[3])) return;
  throw InvalidArgument(fmt::format(
      "{}: expected images [n, h, w, c] with h, w and c between 1 and {}, found shape {}",
      operation, kMostExtent, shape.to_string()));
}

void check_filter_bias(std::string_view operation, const Tensor& bias, Index filters) {
  if (!bias.defined() || bias.shape() == Shape{filters}) return;
  throw InvalidArgument(fmt::format("{}: expected a bias of shape {}, one per filter, found {}",
                                    operation, Shape{filters}.to_string(),
                                    bias.shape().to_string()));
}

Window window_over(std::string_view operation, const Tensor& x, const std::array<Index, 2>& kernel,
                   const std::array<Index, 2>& stride, const std::array<Index, 2>& dilation,
                   Padding padding) {
  const auto slide = [&](std::size_t axis, std::string_view name) {
    try {
      return slide_window(x.shape()[static_cast<Index>(axis) + 1], kernel[axis], stride[axis],
                          dilation[axis], padding);
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(fmt::format("{} over the {} of images {}: {}", operation, name,
                                        x.shape().to_string(), error.what()));
    }
  };
  return {.y = slide(0, "height"), .x = slide(1, "width")};
}

}  // namespace octet
