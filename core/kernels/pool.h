#pragma once

#include <octet/core/kernels/passes.h>
#include <octet/core/parallel.h>
#include <octet/core/window.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

// Pooling of training and of the interpreter.

namespace octet::detail {

/// Images [images, height, width, channels] whose windows are pooled, each channel on its own.
struct Pooling {
  Window window;
  Index images;
  Index channels;
};

/// Writes the largest value of each window; a NaN counts as the largest.
void max_pool(const Pooling& p, const float* x, float* y);
void max_pool(const Pooling& p, const std::int8_t* x, std::int8_t* y);

/// Writes the mean of the pixels of each window, summed in double in row-major order.
void average_pool(const Pooling& p, const float* x, float* y);

/// Whether `value` takes the place of the `largest` so far.
inline bool exceeds(float value, float largest) {
  return !(value <= largest) && largest == largest;  // NOLINT(misc-redundant-expression)
}
inline bool exceeds(std::int8_t value, std::int8_t largest) { return value > largest; }

/// Calls body(pixel) for every tap of output `o` that lies inside the image, in row-major order.
template <class Body>
void for_each_pixel(const Window& window, Index o, Body&& body) {
  const WindowAxis& y = window.y;
  const WindowAxis& x = window.x;
  const Index oy = o / x.output;
  const Index ox = o % x.output;
  const Index from = x.begin(ox);
  const Index to = x.end(ox);
  for (Index ky = y.begin(oy); ky < y.end(oy); ++ky) {
    const Index line = (y.first(oy) + ky * y.dilation) * x.input + x.first(ox);
    for (Index kx = from; kx < to; ++kx) body(line + kx * x.dilation);
  }
}

/// How many pixels for_each_pixel() goes through.
inline Index count_pixels(const Window& window, Index o) {
  const Index oy = o / window.x.output;
  const Index ox = o % window.x.output;
  return (window.y.end(oy) - window.y.begin(oy)) * (window.x.end(ox) - window.x.begin(ox));
}

/// What threads divide among them: whole images where windows add to pixels that they share.
enum class PoolSplit { outputs, images };

/// Calls body(o, input, output) for every window, where `input` and `output` are the offsets of the
/// image and of the output's pixel. Each thread has a body of its own, from make_body().
template <class MakeBody>
void for_each_window(const Pooling& p, PoolSplit split, MakeBody&& make_body) {
  const Index outputs = p.window.outputs();
  const Index item = split == PoolSplit::images ? outputs : 1;
  const auto items = static_cast<std::size_t>(p.images * outputs / item);
  const auto pixels = static_cast<std::size_t>(item * p.window.taps() * p.channels);
  const std::size_t least = parallel_grain(Work::map_floats, pixels);
  parallel_for(items, thread_share(items, least), [&](std::size_t begin, std::size_t end) {
    auto body = make_body();
    const Index last = static_cast<Index>(end) * item;
    for (Index row = static_cast<Index>(begin) * item; row < last; ++row) {
      body(row % outputs, row / outputs * p.window.inputs() * p.channels, row * p.channels);
    }
  });
}

/// Calls body(windows, input, output) for every line of windows side by side, with the offsets of
/// its first pixel and of its first output.
template <class Body>
void for_each_line(const Pooling& p, Body&& body) {
  const WindowAxis& y = p.window.y;
  const WindowAxis& x = p.window.x;
  const Index line = x.input * p.channels;
  const PoolWindows windows{y.kernel, x.kernel, line, p.channels, x.output};
  const auto lines = static_cast<std::size_t>(p.images * y.output);
  const auto pixels = static_cast<std::size_t>(y.kernel * line);
  const std::size_t least = parallel_grain(Work::map_floats, pixels);
  parallel_for(lines, thread_share(lines, least), [&](std::size_t begin, std::size_t end) {
    for (auto i = static_cast<Index>(begin); i < static_cast<Index>(end); ++i) {
      const Index top = i / y.output * y.input + i % y.output * y.kernel;
      body(windows, top * line, i * x.output * p.channels);
    }
  });
}

/// Writes finish(take(... take(start, x) ...), n) of the n pixels x of each window.
template <class T, class Sum, class Take, class Finish>
void reduce_windows(const Pooling& p, const T* x, T* y, Sum start, Take take, Finish finish) {
  // Channels whose sums are made at a time, of which nobody else has an address.
  constexpr Index kBlock = 512;
  for_each_window(p, PoolSplit::outputs, [&] {
    return [&](Index o, Index input, Index output) {
      const Index pixels = count_pixels(p.window, o);
      for (Index first = 0; first < p.channels; first += kBlock) {
        const auto count = static_cast<std::size_t>(std::min(p.channels - first, kBlock));
        std::array<Sum, kBlock> sums;
        std::fill_n(sums.begin(), count, start);
        for_each_pixel(p.window, o, [&](Index pixel) {
          const T* values = x + input + pixel * p.channels + first;
          for (std::size_t c = 0; c < count; ++c) sums[c] = take(sums[c], values[c]);
        });
        T* to = y + output + first;
        for (std::size_t c = 0; c < count; ++c) to[c] = finish(sums[c], pixels);
      }
    };
  });
}

}  // namespace octet::detail
