#pragma once

#include <octet/core/kernels/lanes.h>
#include <octet/core/kernels/passes.h>

// Depthwise convolutions: vectors run over channels, and the sums of a few outputs side by side
// stay in registers over all taps. Products and sums are rounded one by one, in the same order
// whatever the width of a vector. As simple as the loops of passes_loops.h.

namespace octet::passes {

/// Outputs of a line that are computed at once: each weight is then loaded once for all of them.
inline constexpr int kDepthwiseOutputs = 4;

template <class T, int outputs>
struct DepthwiseTile {
  const DepthwiseRow<T>& row;
  /// The first of the outputs.
  Index first;

  template <int width>
  [[gnu::always_inline]] void run(Index c) const {
    using Vector = LanesOf<T, width>;
    const Index step = row.x_step;
    const T* x = row.x + first * step + c;
    Vector sums[outputs];
#pragma GCC unroll 4
    for (int o = 0; o < outputs; ++o) {
      if (row.start != nullptr) {
        load(row.start + c, sums[o]);
      } else {
        sums[o] = Vector{};
      }
    }
    const DepthwiseTap* const end = row.taps + row.count;
    for (const DepthwiseTap* tap = row.taps; tap < end; ++tap) {
      const T* from = x + tap->x;
      Vector weight;
      load(row.weights + (tap->w + c), weight);
#pragma GCC unroll 4
      for (int o = 0; o < outputs; ++o) {
        Vector value;
        load(from + o * step, value);
        sums[o] += value * weight;
      }
    }
    T* y = row.y + first * row.y_step + c;
#pragma GCC unroll 4
    for (int o = 0; o < outputs; ++o) store(sums[o], y + o * row.y_step);
  }
};

/// Pixel by pixel, so that memory is read in order.
template <int lanes, class T>
static void depthwise(const DepthwiseRow<T>& row) {
  Index o = 0;
  for (; o + kDepthwiseOutputs <= row.outputs; o += kDepthwiseOutputs) {
    for_each_lanes<lanes>(row.channels, DepthwiseTile<T, kDepthwiseOutputs>{row, o});
  }
  const Index left = row.outputs - o;
  if (left == 3) for_each_lanes<lanes>(row.channels, DepthwiseTile<T, 3>{row, o});
  if (left == 2) for_each_lanes<lanes>(row.channels, DepthwiseTile<T, 2>{row, o});
  if (left == 1) for_each_lanes<lanes>(row.channels, DepthwiseTile<T, 1>{row, o});
}

/// Taps whose sums stay in registers over all outputs.
inline constexpr int kDepthwiseTaps = 9;

struct DepthwiseSumsOfTaps {
  const DepthwiseProducts& p;

  template <int width>
  [[gnu::always_inline]] void run(Index c) const {
    Index tap = 0;
    for (; tap + kDepthwiseTaps <= p.count; tap += kDepthwiseTaps)
      add<width, kDepthwiseTaps>(tap, c);
    for (; tap + 3 <= p.count; tap += 3) add<width, 3>(tap, c);
    for (; tap < p.count; ++tap) add<width, 1>(tap, c);
  }

 private:
  template <int width, int taps>
  [[gnu::always_inline]] void add(Index first, Index c) const {
    using Vector = LanesOf<float, width>;
    Vector sums[taps];
    Index offsets[taps];
#pragma GCC unroll 9
    for (int t = 0; t < taps; ++t) {
      load(p.sums + p.taps[first + t].w + c, sums[t]);
      offsets[t] = p.taps[first + t].x;
    }
    for (Index line = 0; line < p.lines; ++line) {
      const float* x = p.x + line * p.x_line + c;
      const float* g = p.g + line * p.g_line + c;
      for (Index o = 0; o < p.outputs; ++o, x += p.x_step, g += p.g_step) {
        Vector gradient;
        load(g, gradient);
#pragma GCC unroll 9
        for (int t = 0; t < taps; ++t) {
          Vector value;
          load(x + offsets[t], value);
          sums[t] += value * gradient;
        }
      }
    }
#pragma GCC unroll 9
    for (int t = 0; t < taps; ++t) store(sums[t], p.sums + p.taps[first + t].w + c);
  }
};

template <int lanes>
static void depthwise_products(const DepthwiseProducts& products) {
  for_each_lanes<lanes>(products.channels, DepthwiseSumsOfTaps{products});
}

static void shifted_codes(const std::int8_t* __restrict in, std::size_t size,
                          std::int32_t zero_point, std::int32_t* __restrict out) {
  for (std::size_t i = 0; i < size; ++i) out[i] = in[i] - zero_point;
}

}  // namespace octet::passes
