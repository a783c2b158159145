#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/ops/conv2d_internal.h>
#include <octet/core/ops/transposed_conv2d_internal.h>
#include <octet/core/ops/window_internal.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

namespace octet {
namespace {

constexpr std::string_view kName = "transposed_conv2d";

void check_kernel(const Tensor& x, const Shape& kernel) {
  const Index channels = x.dim(3);
  if (kernel.rank() == 4 && kernel.size() > 0 && kernel[3] == channels) return;
  const char* hint = "";
  if (kernel.rank() == 4 && kernel[2] == channels) {
    hint = "; a kernel of conv2d? permute(kernel, {0, 1, 3, 2})";
  } else if (kernel.rank() == 4 && kernel[3] == x.dim(1)) {
    hint = "; images [n, c, h, w]? permute(x, {0, 2, 3, 1})";
  }
  throw InvalidArgument(
      fmt::format("{}: expected a kernel [kh, kw, filters, {}] of extents of 1 or more for images "
                  "{}, found shape {}{}",
                  kName, channels, x.shape().to_string(), kernel.to_string(), hint));
}

/// One axis of the result.
Index spread(Index input, Index kernel, Index stride, Padding padding, std::string_view axis) {
  if (stride < 1 || stride > kMostExtent) {
    throw InvalidArgument(
        fmt::format("{}: expected a stride between 1 and {} over the {}, found {}", kName,
                    kMostExtent, axis, stride));
  }
  if (padding == Padding::causal) {
    throw InvalidArgument(fmt::format("{}: expected padding valid or same, found causal", kName));
  }
  const Index beyond = padding == Padding::valid ? std::max<Index>(kernel - stride, 0) : 0;
  const Index extent = input * stride + beyond;
  if (kernel <= kMostExtent && extent <= kMostExtent) return extent;
  throw InvalidArgument(
      fmt::format("{}: expected a result of a {} of at most {}, found images of {}, a kernel of {} "
                  "and a stride of {}",
                  kName, axis, kMostExtent, input, kernel, stride));
}

}  // namespace

Conv2DGeometry transposed_conv2d_geometry(const Tensor& x, const Shape& kernel,
                                          const TransposedConv2DOptions& options) {
  check_images(kName, x);
  check_kernel(x, kernel);
  const auto axis = [&](std::size_t i, std::string_view name) {
    const auto k = static_cast<Index>(i);
    const Index extent = spread(x.dim(k + 1), kernel[k], options.stride[i], options.padding, name);
    return slide_window(extent, kernel[k], options.stride[i], 1, options.padding);
  };
  return {.window = {axis(0, "height"), axis(1, "width")},
          .images = x.dim(0),
          .channels = kernel[2],
          .filters = kernel[3],
          .groups = 1};
}

Tensor transposed_conv2d_input_gradient(const Conv2DGeometry& geometry, const Tensor& kernel,
                                        const Tensor& g) {
  return conv2d_result(geometry, g, kernel);
}

Tensor transposed_conv2d_kernel_gradient(const Conv2DGeometry& geometry, const Tensor& x,
                                         const Tensor& g) {
  return conv2d_kernel_gradient(geometry, g, x);
}

Tensor transposed_conv2d(const Tensor& x, const Tensor& kernel,
                         const TransposedConv2DOptions& options) {
  const Conv2DGeometry geometry = transposed_conv2d_geometry(x, kernel.shape(), options);
  const Tensor y = conv2d_input_gradient(geometry, kernel, x);
  return record("transposed_conv2d", y, {x, kernel}, [geometry, x, kernel](const Tensor& g) {
    std::vector<Tensor> gradients(2);
    if (x.requires_grad()) gradients[0] = transposed_conv2d_input_gradient(geometry, kernel, g);
    if (kernel.requires_grad()) gradients[1] = transposed_conv2d_kernel_gradient(geometry, x, g);
    return gradients;
  });
}

}  // namespace octet
