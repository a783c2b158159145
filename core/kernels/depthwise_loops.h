#pragma once

#include <octet/core/kernels/lanes.h>
#include <octet/core/kernels/passes.h>

#include <type_traits>

// Depthwise convolutions: vectors run over channels, and the sums of a few outputs of a few lines
// stay in registers over all taps. Products and sums are rounded one by one, in the same order
// whatever the width of a vector. As simple as the loops of passes_loops.h.

namespace octet::passes {

/// Outputs that are computed at once, side by side: each weight is then loaded once for all of them
/// in all lines of a tile.
inline constexpr int kDepthwiseOutputs = 4;
/// The lines of a tile, so that it has up to 12 outputs: with a weight and a pixel their sums fit
/// 16 registers, and hide the latency of an addition.
constexpr int depthwise_lines(int outputs) { return outputs == 1 ? 8 : 12 / outputs; }

/// sum += x * w, of pairs of codes where T is std::int32_t.
template <class T, int width>
[[gnu::always_inline]] static inline void multiply_add(LanesOf<T, width>& sum,
                                                       const LanesOf<T, width>& x,
                                                       const LanesOf<T, width>& w) {
  if constexpr (std::is_same_v<T, float>) {
    sum += x * w;
  } else {
    add_pair_products<width>(sum, x, w);
  }
}

template <class T, int lines, int outputs>
struct DepthwiseTile {
  const DepthwiseLines<T>& part;
  /// The first of the lines and of the outputs.
  Index line;
  Index first;

  template <int width>
  [[gnu::always_inline]] void run(Index c) const {
    using Vector = LanesOf<T, width>;
    const Index x_line = part.x_line;
    const Index step = part.x_step;
    const T* x = part.x + line * x_line + first * step + c;
    Vector start = {};
    if (part.start != nullptr) load(part.start + c, start);
    Vector sums[lines][outputs];
#pragma GCC unroll 8
    for (int l = 0; l < lines; ++l) {
#pragma GCC unroll 4
      for (int o = 0; o < outputs; ++o) sums[l][o] = start;
    }
    const DepthwiseTap* const end = part.taps + part.count;
    for (const DepthwiseTap* tap = part.taps; tap < end; ++tap) {
      const T* pixel = x + tap->x;
      Vector weight;
      load(part.weights + (tap->w + c), weight);
#pragma GCC unroll 8
      for (int l = 0; l < lines; ++l) {
#pragma GCC unroll 4
        for (int o = 0; o < outputs; ++o) {
          Vector value;
          load(pixel + o * step, value);
          multiply_add<T, width>(sums[l][o], value, weight);
        }
        pixel += x_line;
        // Keeps the compiler from an address per line and output, for which registers are too few.
        asm("" : "+r"(pixel));
      }
    }
    T* y = part.y + line * part.y_line + first * part.y_step + c;
#pragma GCC unroll 8
    for (int l = 0; l < lines; ++l) {
#pragma GCC unroll 4
      for (int o = 0; o < outputs; ++o) {
        store(sums[l][o], y + l * part.y_line + o * part.y_step);
      }
    }
  }
};

/// Outputs [first, last) of the lines [line, line + lines), pixel by pixel, so that memory is read
/// in order.
template <int lanes, int lines, int outputs, class T>
[[gnu::always_inline]] static inline void depthwise_tiles(const DepthwiseLines<T>& part, Index line,
                                                          Index first, Index last) {
  for (Index o = first; o < last; o += outputs) {
    for_each_lanes<lanes>(part.channels, DepthwiseTile<T, lines, outputs>{part, line, o});
  }
}

/// Outputs [first, last), a multiple of `outputs`, of all lines. Where fewer lines are left than a
/// tile has, it begins above them: what is computed once more gets the same bits.
template <int lanes, int outputs, class T>
static void depthwise_outputs(const DepthwiseLines<T>& part, Index first, Index last) {
  constexpr int kLines = depthwise_lines(outputs);
  const Index lowest = part.lines - kLines;
  if (lowest < 0) {
    for (Index line = 0; line < part.lines; ++line) {
      depthwise_tiles<lanes, 1, outputs>(part, line, first, last);
    }
    return;
  }
  for (Index line = 0; line < part.lines; line += kLines) {
    depthwise_tiles<lanes, kLines, outputs>(part, line < lowest ? line : lowest, first, last);
  }
}

template <int lanes, class T>
static void depthwise(const DepthwiseLines<T>& part) {
  const Index all = part.outputs;
  const Index left = all % kDepthwiseOutputs;
  depthwise_outputs<lanes, kDepthwiseOutputs>(part, 0, all - left);
  if (left == 3) depthwise_outputs<lanes, 3>(part, all - left, all);
  if (left == 2) depthwise_outputs<lanes, 2>(part, all - left, all);
  if (left == 1) depthwise_outputs<lanes, 1>(part, all - left, all);
}

/// Taps whose sums stay in registers over all outputs.
inline constexpr int kDepthwiseTaps = 9;

template <class T>
struct DepthwiseSumsOfTaps {
  const DepthwiseProducts<T>& p;

  template <int width>
  [[gnu::always_inline]] void run(Index c) const {
    Index tap = 0;
    for (; tap + kDepthwiseTaps <= p.count; tap += kDepthwiseTaps)
      add<width, kDepthwiseTaps>(tap, c);
    // What a kernel of 3 x 3 reads at an edge and in a corner.
    for (; tap + 6 <= p.count; tap += 6) add<width, 6>(tap, c);
    for (; tap + 4 <= p.count; tap += 4) add<width, 4>(tap, c);
    for (; tap < p.count; ++tap) add<width, 1>(tap, c);
  }

 private:
  template <int width, int taps>
  [[gnu::always_inline]] void add(Index first, Index c) const {
    using Vector = LanesOf<T, width>;
    Vector sums[taps];
    Index offsets[taps];
#pragma GCC unroll 9
    for (int t = 0; t < taps; ++t) {
      load(p.sums + p.taps[first + t].w + c, sums[t]);
      offsets[t] = p.taps[first + t].x;
    }
    for (Index line = 0; line < p.lines; ++line) {
      const T* x = p.x + line * p.x_line + c;
      const T* g = p.g + line * p.g_line + c;
      for (Index o = 0; o < p.outputs; ++o, x += p.x_step, g += p.g_step) {
        Vector gradient;
        load(g, gradient);
#pragma GCC unroll 9
        for (int t = 0; t < taps; ++t) {
          Vector value;
          load(x + offsets[t], value);
          multiply_add<T, width>(sums[t], value, gradient);
        }
      }
    }
#pragma GCC unroll 9
    for (int t = 0; t < taps; ++t) store(sums[t], p.sums + p.taps[first + t].w + c);
  }
};

template <int lanes, class T>
static void depthwise_products(const DepthwiseProducts<T>& products) {
  for_each_lanes<lanes>(products.channels, DepthwiseSumsOfTaps<T>{products});
}

static void shifted_codes(const std::int8_t* __restrict in, std::size_t size,
                          std::int32_t zero_point, std::int16_t* __restrict out) {
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::int16_t>(in[i] - zero_point);
}

static void pair_codes(const std::int16_t* __restrict low, const std::int16_t* __restrict high,
                       std::size_t size, std::int32_t* __restrict out) {
  for (std::size_t i = 0; i < size; ++i) {
    const auto bits = static_cast<std::uint32_t>(static_cast<std::uint16_t>(low[i]));
    out[i] = static_cast<std::int32_t>(bits | static_cast<std::uint32_t>(high[i]) << 16U);
  }
}

}  // namespace octet::passes
