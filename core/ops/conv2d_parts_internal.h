#pragma once

#include <octet/core/conv2d_geometry.h>
#include <octet/core/function_ref.h>
#include <octet/core/kernels/correlate_f32.h>
#include <octet/core/parallel.h>

#include <algorithm>
#include <cstddef>
#include <optional>

// What conv2d() and its gradients have in common.

namespace octet::detail {

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
inline Index row_grain(const Conv2DGeometry& s) {
  const auto products = static_cast<std::size_t>(s.patch() * s.filters_per_group());
  return static_cast<Index>(parallel_grain(Work::float_multiply_adds, products));
}

/// Lines of images [height, width, channels], from the first channel of the group on.
template <class T>
PixelsOf<T> pixels_of(T* x, const Window& window, Index channels, bool outputs) {
  const Index line = (outputs ? window.x.output : window.x.input) * channels;
  return {x, (outputs ? window.y.output : window.y.input) * line, line, channels};
}

/// Runs a correlation over all lines, on several threads; `done(begin, end)`, if given, is called
/// for rows of the result while they are in the cache.
inline void run_lines(const Conv2DGeometry& s, const CorrelationF32& correlation,
                      const PixelsOf<const float>& in, const PixelsOf<float>& out,
                      FunctionRef<void(Index begin, Index end)> done = {}) {
  const auto lines = static_cast<std::size_t>(s.images * correlation.lines());
  if (lines == 0) return;
  const auto least = static_cast<std::size_t>(divided_up(row_grain(s), s.window.x.output));
  const auto line_done = [&](Index image, Index begin, Index end) {
    const Index first = image * s.window.y.output;
    if (done) done((first + begin) * s.window.x.output, (first + end) * s.window.x.output);
  };
  parallel_for(lines, thread_share(lines, least), [&](std::size_t begin, std::size_t end) {
    correlation.run(in, static_cast<Index>(begin), static_cast<Index>(end), out, line_done);
  });
}

/// The rows of a block that stays in the second-level cache, with the sums of a kernel's gradient,
/// which are added to block by block; none where kernels are large or outputs read several pixels.
inline std::optional<Index> block_rows(const Conv2DGeometry& s) {
  constexpr Index kLeastRows = 64;
  constexpr Index kFloats = Index{1} << 14;
  if (!s.window.is_pointwise() || s.kernel_shape().size() > kFloats) return std::nullopt;
  return std::max(kLeastRows, kFloats / std::max(s.channels, s.filters));
}

}  // namespace octet::detail
