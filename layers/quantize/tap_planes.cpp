#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/transpose_bytes.h>
#include <octet/core/parallel.h>
#include <octet/layers/quantize/tap_planes.h>

#include <algorithm>
#include <cassert>
#include <cstddef>

namespace octet::detail {
namespace {

/// Rows are padded to a multiple of it, which every code path's depth step divides.
constexpr Index kDepthStep = 64;

Index rounded_up(Index rows) { return divided_up(rows, kDepthStep) * kDepthStep; }

}  // namespace

TapAxis::TapAxis(const WindowAxis& axis) : axis_(axis) {
  for (Index k = 0; k < axis.kernel; ++k) {
    if (std::ranges::find(phases_, rest(k)) == phases_.end()) phases_.push_back(rest(k));
  }
}

Index TapAxis::rest(Index k) const {
  const Index rest = offset(k) % axis_.stride;
  return rest < 0 ? rest + axis_.stride : rest;
}

Index TapAxis::phase(Index k) const {
  return std::ranges::find(phases_, rest(k)) - phases_.begin();
}

Index TapPlanes::most_images(const Conv2DGeometry& geometry) {
  const Index rows = TapAxis(geometry.window.y).extent() * TapAxis(geometry.window.x).extent();
  return (PackedS8::kMostInputs - kDepthStep) / rows;
}

RowLayout TapPlanes::layout(const Conv2DGeometry& geometry, const TapAxis& y, const TapAxis& x) {
  const Index of_image = y.extent() * x.extent();
  return {.line = x.axis().output,
          .lines = y.axis().output,
          .line_pitch = x.extent(),
          .image_pitch = of_image,
          .depth = rounded_up(geometry.images * of_image)};
}

Index TapPlanes::plane_size(Index farthest) const {
  const Index size = rounded_up(rows_.depth + farthest);
  // An odd number of cache lines: channels at distances of a power of two would share sets of the
  // cache.
  return size / kDepthStep % 2 == 0 ? size + kDepthStep : size;
}

TapPlanes::TapPlanes(const Conv2DGeometry& geometry)
    : geometry_(geometry),
      y_(geometry.window.y),
      x_(geometry.window.x),
      rows_(layout(geometry, y_, x_)),
      plane_(plane_size(distance(y_.axis().kernel - 1, x_.axis().kernel - 1))),
      size_(y_.phases().size() * x_.phases().size() *
            static_cast<std::size_t>(geometry.channels * plane_)),
      by_line_(x_.axis().stride == 1 && geometry.channels < x_.axis().kernel),
      planes_(size_) {
  assert(geometry.groups == 1 && kDepthStep % kernels().s8_depth_step == 0);
  const auto phases_x = static_cast<Index>(x_.phases().size());
  const Index line = x_.axis().kernel;
  for (Index ky = 0; ky < y_.axis().kernel; ++ky) {
    for (Index i = 0; i < (by_line_ ? geometry.channels : line); ++i) {
      const Index kx = by_line_ ? 0 : i;
      const Index channel = by_line_ ? i : 0;
      const Index phase = y_.phase(ky) * phases_x + x_.phase(kx);
      firsts_.push_back((phase * geometry.channels + channel) * plane_ + distance(ky, kx));
      results_.push_back((ky * line + kx) * geometry.channels + channel);
    }
  }
}

InputRows TapPlanes::fill(const std::int8_t* x, std::int8_t zero) {
  std::fill_n(planes_.data(), size_, zero);
  const auto image = static_cast<std::size_t>(geometry_.window.inputs() * geometry_.channels);
  parallel_for(static_cast<std::size_t>(geometry_.images),
               parallel_grain(Work::write_floats, image), [&](std::size_t begin, std::size_t end) {
                 for (std::size_t n = begin; n < end; ++n) {
                   fill_image(static_cast<Index>(n), x + n * image);
                 }
               });
  const std::span<const std::int8_t> planes(planes_.data(), size_);
  if (!by_line_) return {planes, geometry_.channels, plane_, 1, firsts_, results_};
  const WindowAxis& axis = x_.axis();
  return {planes, axis.kernel, axis.dilation, geometry_.channels, firsts_, results_};
}

void TapPlanes::fill_image(Index image, const std::int8_t* x) {
  const Index channels = geometry_.channels;
  const Index height = y_.axis().input;
  const Index width = x_.axis().input;
  const Index step = x_.axis().stride;
  std::int8_t* plane = planes_.data() + image * rows_.image_pitch;
  for (Index py = 0; py < static_cast<Index>(y_.phases().size()); ++py) {
    for (Index px = 0; px < static_cast<Index>(x_.phases().size()); ++px) {
      // The positions of the phase that lie inside the image.
      const Index first = x_.first(px);
      const Index begin = first < 0 ? divided_up(-first, step) : 0;
      const Index inside = width <= first ? 0 : divided_up(width - first, step);
      const Index end = std::min(inside, x_.extent());
      // Lines that lie side by side here and there are one.
      const bool is_whole = step == 1 && first == 0 && x_.extent() == width;
      const bool is_one = is_whole && y_.axis().stride == 1 && y_.first(py) == 0;
      const Index lines = is_one ? std::min(y_.extent(), height) : 1;
      for (Index gy = 0; gy < y_.extent() && begin < end; gy += lines) {
        const Index iy = y_.first(py) + gy * y_.axis().stride;
        if (iy < 0 || iy >= height) continue;
        transpose_bytes(x + (iy * width + first + begin * step) * channels, step * channels,
                        lines * (end - begin), channels, plane + gy * rows_.line_pitch + begin,
                        plane_);
      }
      plane += channels * plane_;
    }
  }
}

}  // namespace octet::detail
