#include <fmt/format.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/ops/depthwise_conv2d_internal.h>
#include <octet/core/ops/partial_sums.h>
#include <octet/core/ops/window_internal.h>
#include <octet/core/parallel.h>

#include <algorithm>
#include <vector>

namespace octet {
namespace {

/// to[c, m] += x[c] * by[c, m].
void add_products(Index channels, Index multiplier, const float* x, const float* by, float* to) {
  if (multiplier == 1) {
    for (Index c = 0; c < channels; ++c) to[c] += x[c] * by[c];
    return;
  }
  for (Index c = 0; c < channels; ++c, by += multiplier, to += multiplier) {
    for (Index m = 0; m < multiplier; ++m) to[m] += x[c] * by[m];
  }
}

/// to[c] += sum over m of a[c, m] * b[c, m].
void add_dot_products(Index channels, Index multiplier, const float* a, const float* b, float* to) {
  if (multiplier == 1) return add_products(channels, 1, a, b, to);
  for (Index c = 0; c < channels; ++c, a += multiplier, b += multiplier) {
    float sum = 0.0F;
    for (Index m = 0; m < multiplier; ++m) sum += a[m] * b[m];
    to[c] += sum;
  }
}

/// The fewest rows that justify waking a thread.
Index row_grain(const DepthwiseConv2DGeometry& s) {
  const auto products = static_cast<std::size_t>(s.window.taps() * s.filters());
  return static_cast<Index>(parallel_grain(Work::map_floats, products));
}

/// Calls body(tap, pixel) for the taps of a row, `pixel` counted over all images.
template <class Body>
void for_each_tap_of_row(const Window& window, Index row, Body&& body) {
  const Index first = row / window.outputs() * window.inputs();
  for_each_tap(window, row % window.outputs(),
               [&](Index tap, Index pixel) { body(tap, first + pixel); });
}

void check_kernel(const Tensor& x, const Tensor& kernel) {
  const Shape& shape = kernel.shape();
  if (shape.rank() == 4 && shape[2] == x.dim(3) && shape[3] >= 1) return;
  const char* hint = "";
  if (shape.rank() == 4 && shape[2] == 1 && shape[3] % x.dim(3) == 0) {
    hint = "; a kernel of conv2d with groups? reshape it to [kh, kw, c, multiplier]";
  } else if (shape.rank() == 4 && shape[2] == x.dim(1)) {
    hint = "; images [n, c, h, w]? permute(x, {0, 2, 3, 1})";
  }
  throw InvalidArgument(
      fmt::format("depthwise_conv2d: expected a kernel [kh, kw, {}, multiplier] for images {}, "
                  "found shape {}{}",
                  x.dim(3), x.shape().to_string(), shape.to_string(), hint));
}

}  // namespace

DepthwiseConv2DGeometry depthwise_conv2d_geometry(const Tensor& x, const Tensor& kernel,
                                                  const DepthwiseConv2DOptions& options) {
  check_images("depthwise_conv2d", x);
  check_kernel(x, kernel);
  const Shape& shape = kernel.shape();
  return {.window = window_over("depthwise_conv2d", x, {shape[0], shape[1]}, options.stride,
                                options.dilation, options.padding),
          .images = x.dim(0),
          .channels = x.dim(3),
          .multiplier = shape[3]};
}

Tensor depthwise_conv2d_input_gradient(const DepthwiseConv2DGeometry& geometry,
                                       const Tensor& kernel, const Tensor& g) {
  Tensor dx = Tensor::zeros(geometry.input_shape());
  const Index outputs = geometry.window.outputs();
  const auto images = static_cast<std::size_t>(geometry.images);
  // Whole images, so that no two threads add to one pixel.
  const auto least = static_cast<std::size_t>(divided_up(row_grain(geometry), outputs));
  parallel_for(images, thread_share(images, least),
               [&, weights = kernel.data(), upstream = g.data(), to = dx.data()](std::size_t begin,
                                                                                 std::size_t end) {
                 const Index last = static_cast<Index>(end) * outputs;
                 for (Index row = static_cast<Index>(begin) * outputs; row < last; ++row) {
                   const float* output = upstream + row * geometry.filters();
                   for_each_tap_of_row(geometry.window, row, [&](Index tap, Index pixel) {
                     add_dot_products(geometry.channels, geometry.multiplier, output,
                                      weights + tap * geometry.filters(),
                                      to + pixel * geometry.channels);
                   });
                 }
               });
  return dx;
}

Tensor depthwise_conv2d_kernel_gradient(const DepthwiseConv2DGeometry& geometry, const Tensor& x,
                                        const Tensor& g) {
  const float* pixels = x.data();
  const float* upstream = g.data();
  const auto add_rows = [&](Index begin, Index end, float* sums) {
    std::fill_n(sums, geometry.window.taps() * geometry.filters(), 0.0F);
    for (Index row = begin; row < end; ++row) {
      for_each_tap_of_row(geometry.window, row, [&](Index tap, Index pixel) {
        add_products(geometry.channels, geometry.multiplier, pixels + pixel * geometry.channels,
                     upstream + row * geometry.filters(), sums + tap * geometry.filters());
      });
    }
  };
  return sum_of_parts(geometry.kernel_shape(), geometry.rows(), add_rows);
}

Tensor depthwise_conv2d(const Tensor& x, const Tensor& kernel,
                        const DepthwiseConv2DOptions& options) {
  const DepthwiseConv2DGeometry geometry = depthwise_conv2d_geometry(x, kernel, options);
  Tensor y(geometry.output_shape());
  const auto rows = static_cast<std::size_t>(geometry.rows());
  const auto least = static_cast<std::size_t>(row_grain(geometry));
  parallel_for(rows, thread_share(rows, least),
               [&, pixels = x.data(), weights = kernel.data(), out = y.data()](std::size_t begin,
                                                                               std::size_t end) {
                 for (auto row = static_cast<Index>(begin); row < static_cast<Index>(end); ++row) {
                   float* sums = out + row * geometry.filters();
                   std::fill_n(sums, geometry.filters(), 0.0F);
                   for_each_tap_of_row(geometry.window, row, [&](Index tap, Index pixel) {
                     add_products(geometry.channels, geometry.multiplier,
                                  pixels + pixel * geometry.channels,
                                  weights + tap * geometry.filters(), sums);
                   });
                 }
               });
  return record("depthwise_conv2d", y, {x, kernel}, [geometry, x, kernel](const Tensor& g) {
    std::vector<Tensor> gradients(2);
    if (x.requires_grad()) gradients[0] = depthwise_conv2d_input_gradient(geometry, kernel, g);
    if (kernel.requires_grad()) gradients[1] = depthwise_conv2d_kernel_gradient(geometry, x, g);
    return gradients;
  });
}

}  // namespace octet
