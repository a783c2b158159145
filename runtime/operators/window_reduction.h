#pragma once

#include <octet/core/kernels/isa.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/runtime/operators/float_clamp.h>
#include <octet/runtime/operators/image_window.h>

#include <algorithm>
#include <array>
#include <utility>

// Operators that make one value of the pixels of each window, channel by channel.

namespace octet::detail {

/// The most pixels of a window that lie inside the image.
inline Index most_pixels(const Window& window) {
  return std::min(window.y.kernel, window.y.input) * std::min(window.x.kernel, window.x.input);
}

/// Reduces a window of floats to their mean.
class FloatMean {
 public:
  using Code = float;
  /// The type in which average_pool2d() sums, too.
  using Sum = double;

  explicit FloatMean(const KernelSource& source) : clamp_(source.op.activation()) {}

  static constexpr Sum start() { return 0.0; }
  static Sum take(Sum sum, Code value) { return sum + static_cast<double>(value); }
  Code finish(Sum sum, Index count) const {
    return clamp_(static_cast<float>(sum / static_cast<double>(count)));
  }

 private:
  FloatClamp clamp_;
};

/// What `Reduction` makes of the pixels of each window: finish(take(... take(start(), x) ...), n)
/// of the n pixels x of a channel. One with a member keeps_all() is a maximum of int8 codes.
template <class Reduction>
class WindowReduction final : public Kernel {
 public:
  using Code = typename Reduction::Code;

  WindowReduction(const KernelSource& source, const Window& window)
      : window_(window),
        images_(source.input().shape[0]),
        channels_(source.input().shape[3]),
        side_by_side_(window_.is_tiling()),
        reduction_(source) {}

  void run(const KernelArguments& a) const override {
    const auto rows = static_cast<std::size_t>(a.samples * images_ * window_.y.output);
    const auto row_codes =
        static_cast<std::size_t>(window_.x.output * most_pixels(window_) * channels_);
    parallel_for(rows, parallel_grain(Work::read_bytes, row_codes),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t row = begin; row < end; ++row) {
                     run_row(a, static_cast<Index>(row));
                   }
                 });
  }

 private:
  void run_row(const KernelArguments& a, Index row) const {
    const Index oy = row % window_.y.output;
    const Code* image = a.input<Code>() + row / window_.y.output * window_.inputs() * channels_;
    Code* y = a.to<Code>() + row * window_.x.output * channels_;
    if constexpr (requires { reduction_.keeps_all(); }) {
      if (side_by_side_) return run_codes(image, oy, y);
    }
    for (Index ox = 0; ox < window_.x.output; ++ox, y += channels_) {
      for (Index first = 0; first < channels_; first += kBlock) {
        reduce(image, oy, ox, first, y + first);
      }
    }
  }

  /// A line of windows side by side.
  void run_codes(const std::int8_t* image, Index oy, std::int8_t* y) const {
    const Index line = window_.x.input * channels_;
    kernels().passes.max_pool_codes(
        image + oy * window_.y.kernel * line,
        {window_.y.kernel, window_.x.kernel, line, channels_, window_.x.output}, y);
    if (reduction_.keeps_all()) return;
    for (Index i = 0; i < window_.x.output * channels_; ++i) y[i] = reduction_.finish(y[i], 1);
  }

  void reduce(const Code* image, Index oy, Index ox, Index first, Code* y) const {
    const Index count = std::min(channels_ - first, kBlock);
    const WindowAxis& rows = window_.y;
    const WindowAxis& columns = window_.x;
    std::array<typename Reduction::Sum, kBlock> sums;
    std::fill_n(sums.begin(), count, Reduction::start());
    for (Index ky = rows.begin(oy); ky < rows.end(oy); ++ky) {
      const Code* line = image + (rows.first(oy) + ky) * columns.input * channels_ + first;
      for (Index kx = columns.begin(ox); kx < columns.end(ox); ++kx) {
        const Code* x = line + (columns.first(ox) + kx) * channels_;
        for (Index c = 0; c < count; ++c) {
          sums[static_cast<std::size_t>(c)] =
              Reduction::take(sums[static_cast<std::size_t>(c)], x[c]);
        }
      }
    }
    const Index taps = (rows.end(oy) - rows.begin(oy)) * (columns.end(ox) - columns.begin(ox));
    for (Index c = 0; c < count; ++c) {
      y[c] = reduction_.finish(sums[static_cast<std::size_t>(c)], taps);
    }
  }

  /// Channels whose sums or maxima are made at a time.
  static constexpr Index kBlock = 128;

  Window window_;
  Index images_;
  Index channels_;
  bool side_by_side_;
  Reduction reduction_;
};

}  // namespace octet::detail
