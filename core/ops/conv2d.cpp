#include <fmt/format.h>
#include <octet/core/autograd.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/kernels/gemm.h>
#include <octet/core/kernels/patches.h>
#include <octet/core/ops/conv2d_internal.h>
#include <octet/core/ops/depthwise_conv2d.h>
#include <octet/core/ops/partial_sums.h>
#include <octet/core/ops/window_internal.h>
#include <octet/core/parallel.h>

#include <algorithm>
#include <vector>

namespace octet {
namespace {

/// Patches are gathered and multiplied in blocks that stay in the second-level cache; fewer rows
/// than these would be a poor block of a product. No bit depends on them.
constexpr Index kPatchFloats = Index{1} << 15;
constexpr Index kLeastRows = 56;

Index rows_per_block(const Conv2DGeometry& s) {
  return std::min(std::max(kLeastRows, kPatchFloats / s.patch()), s.rows());
}

using PatchBuffer = ScratchBuffer<float, Conv2DGeometry>;

PatchBuffer patch_buffer(const Conv2DGeometry& s) {
  return PatchBuffer(static_cast<std::size_t>(rows_per_block(s) * s.patch()));
}

/// Calls body(begin, end) for blocks of rows of [begin, end).
template <class Body>
void for_each_block(const Conv2DGeometry& s, Index begin, Index end, Body&& body) {
  const Index step = rows_per_block(s);
  for (Index row = begin; row < end; row += step) body(row, std::min(row + step, end));
}

/// Adds the patches of rows [begin, end) to the pixels that they were gathered from (col2im).
void scatter_rows(const Conv2DGeometry& s, const float* patches, Index group, Index begin,
                  Index end, float* x) {
  const Index count = s.channels_per_group();
  const Index size = s.window.inputs() * s.channels;
  for_each_image(s, begin, end, [&](Index image, Index first, Index last, Index row) {
    float* pixels = x + image * size + group * count;
    const float* patch = patches + (row - begin) * s.patch();
    for (Index o = first; o < last; ++o, patch += s.patch()) {
      for_each_tap(s.window, o, [&](Index tap, Index pixel) {
        float* to = pixels + pixel * s.channels;
        const float* from = patch + tap * count;
        for (Index c = 0; c < count; ++c) to[c] += from[c];
      });
    }
  });
}

/// Row `row` of the group's part of a matrix [rows, channels], or [rows, filters].
template <class T>
T* channels_of(const Conv2DGeometry& s, T* x, Index group, Index row = 0) {
  return x + row * s.channels + group * s.channels_per_group();
}
template <class T>
T* filters_of(const Conv2DGeometry& s, T* y, Index group, Index row = 0) {
  return y + row * s.filters + group * s.filters_per_group();
}

/// The fewest rows whose products justify waking a thread.
Index row_grain(const Conv2DGeometry& s) {
  const auto products = static_cast<std::size_t>(s.patch() * s.filters_per_group());
  return static_cast<Index>(parallel_grain(Work::float_multiply_adds, products));
}

void convolve(const Conv2DGeometry& s, const float* x, const float* kernel, Index group, float* y) {
  const Index filters = s.filters_per_group();
  const GemmOperand weights{filters_of(s, kernel, group), s.filters};
  if (s.window.is_pointwise()) {
    return gemm_f32(s.rows(), filters, s.patch(), {channels_of(s, x, group), s.channels}, weights,
                    filters_of(s, y, group), s.filters);
  }
  const PackedF32 packed(weights, s.patch(), filters);
  const auto rows = static_cast<std::size_t>(s.rows());
  const auto least = static_cast<std::size_t>(row_grain(s));
  parallel_for(rows, thread_share(rows, least), [&](std::size_t begin, std::size_t end) {
    const PatchBuffer patches = patch_buffer(s);
    for_each_block(s, static_cast<Index>(begin), static_cast<Index>(end),
                   [&](Index from, Index to) {
                     gather_rows(s, x, group, 0.0F, from, to, patches.data());
                     packed.multiply_rows(to - from, {patches.data(), s.patch()},
                                          filters_of(s, y, group, from), s.filters);
                   });
  });
}

/// Adds to dx, or writes it where every pixel is read once.
void propagate(const Conv2DGeometry& s, const float* kernel, const float* g, Index group,
               float* dx) {
  const Index filters = s.filters_per_group();
  const GemmOperand weights{filters_of(s, kernel, group), s.filters, Transpose::yes};
  if (s.window.is_pointwise()) {
    return gemm_f32(s.rows(), s.patch(), filters, {filters_of(s, g, group), s.filters}, weights,
                    channels_of(s, dx, group), s.channels);
  }
  const PackedF32 packed(weights, filters, s.patch());
  const Index outputs = s.window.outputs();
  const auto images = static_cast<std::size_t>(s.images);
  // Whole images, so that no two threads add to one pixel.
  const auto least = static_cast<std::size_t>(divided_up(row_grain(s), outputs));
  parallel_for(images, thread_share(images, least), [&](std::size_t begin, std::size_t end) {
    const PatchBuffer patches = patch_buffer(s);
    for_each_block(s, static_cast<Index>(begin) * outputs, static_cast<Index>(end) * outputs,
                   [&](Index from, Index to) {
                     packed.multiply_rows(to - from, {filters_of(s, g, group, from), s.filters},
                                          patches.data(), s.patch());
                     scatter_rows(s, patches.data(), group, from, to, dx);
                   });
  });
}

/// Writes the products of rows [begin, end) to the group's columns of a kernel's gradient.
void correlate(const Conv2DGeometry& s, const float* x, const float* g, Index group, Index begin,
               Index end, float* kernel) {
  const Index filters = s.filters_per_group();
  float* sums = filters_of(s, kernel, group);
  const auto add = [&](Index from, Index to, const float* patches, Index stride) {
    gemm_f32(s.patch(), filters, to - from, {patches, stride, Transpose::yes},
             {filters_of(s, g, group, from), s.filters}, sums, s.filters, from > begin);
  };
  if (s.window.is_pointwise()) return add(begin, end, channels_of(s, x, group, begin), s.channels);
  const PatchBuffer patches = patch_buffer(s);
  for_each_block(s, begin, end, [&](Index from, Index to) {
    gather_rows(s, x, group, 0.0F, from, to, patches.data());
    add(from, to, patches.data(), s.patch());
  });
}

void check_kernel(const Tensor& x, const Tensor& kernel, Index groups) {
  const Shape& images = x.shape();
  const Shape& shape = kernel.shape();
  if (shape.rank() != 4 || shape.size() == 0) {
    throw InvalidArgument(fmt::format(
        "conv2d: expected a kernel [kh, kw, c / groups, filters] of extents of 1 or more, found "
        "shape {}",
        shape.to_string()));
  }
  if (groups < 1 || images[3] % groups != 0 || shape[3] % groups != 0) {
    throw InvalidArgument(
        fmt::format("conv2d: expected groups that divide the {} channels of images {} and the {} "
                    "filters of kernel {}, found {}",
                    images[3], images.to_string(), shape[3], shape.to_string(), groups));
  }
  const Index channels = images[3] / groups;
  if (shape[2] == channels) return;
  const char* hint =
      shape[1] == channels    ? "; a kernel [filters, c, kh, kw]? permute(kernel, {2, 3, 1, 0})"
      : images[1] == shape[2] ? "; images [n, c, h, w]? permute(x, {0, 2, 3, 1})"
      : shape[2] == images[3] ? "; with groups, a filter reads the channels of its group only"
      : groups == 1 && channels % shape[2] == 0 ? "; groups left out?"
                                                : "";
  throw InvalidArgument(fmt::format(
      "conv2d: expected a kernel of {} input channels for images {} in {} groups, found shape {}{}",
      channels, images.to_string(), groups, shape.to_string(), hint));
}

}  // namespace

Conv2DGeometry conv2d_geometry(const Tensor& x, const Tensor& kernel,
                               const Conv2DOptions& options) {
  check_images("conv2d", x);
  check_kernel(x, kernel, options.groups);
  const Shape& shape = kernel.shape();
  return {.window = window_over("conv2d", x, {shape[0], shape[1]}, options.stride, options.dilation,
                                options.padding),
          .images = x.dim(0),
          .channels = x.dim(3),
          .filters = shape[3],
          .groups = options.groups};
}

Tensor conv2d_input_gradient(const Conv2DGeometry& geometry, const Tensor& kernel,
                             const Tensor& g) {
  // Without patches, every element is written.
  Tensor dx = geometry.window.is_pointwise() ? Tensor(geometry.input_shape())
                                             : Tensor::zeros(geometry.input_shape());
  for (Index group = 0; group < geometry.groups; ++group) {
    propagate(geometry, kernel.data(), g.data(), group, dx.data());
  }
  return dx;
}

Tensor conv2d_kernel_gradient(const Conv2DGeometry& geometry, const Tensor& x, const Tensor& g) {
  const float* pixels = x.data();
  const float* upstream = g.data();
  return sum_of_parts(geometry.kernel_shape(), geometry.rows(),
                      [&](Index begin, Index end, float* sums) {
                        for (Index group = 0; group < geometry.groups; ++group) {
                          correlate(geometry, pixels, upstream, group, begin, end, sums);
                        }
                      });
}

Tensor conv2d(const Tensor& x, const Tensor& kernel, const Conv2DOptions& options) {
  const Conv2DGeometry geometry = conv2d_geometry(x, kernel, options);
  if (geometry.groups > 1 && geometry.groups == geometry.channels) {
    const Index multiplier = geometry.filters_per_group();
    const Shape shape{kernel.dim(0), kernel.dim(1), geometry.channels, multiplier};
    return depthwise_conv2d(
        x, kernel.reshape(shape),
        {.stride = options.stride, .dilation = options.dilation, .padding = options.padding});
  }
  Tensor y(geometry.output_shape());
  for (Index group = 0; group < geometry.groups; ++group) {
    convolve(geometry, x.data(), kernel.data(), group, y.data());
  }
  return record("conv2d", y, {x, kernel}, [geometry, x, kernel](const Tensor& g) {
    std::vector<Tensor> gradients(2);
    if (x.requires_grad()) gradients[0] = conv2d_input_gradient(geometry, kernel, g);
    if (kernel.requires_grad()) gradients[1] = conv2d_kernel_gradient(geometry, x, g);
    return gradients;
  });
}

}  // namespace octet
