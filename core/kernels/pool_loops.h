#pragma once

#include <octet/core/kernels/passes.h>

// Maximum pooling of windows side by side, as simple as the loops of passes_loops.h. Few channels
// are computed in vectors that reach into the next window, whose own results come after them.

namespace octet::passes {

/// Vectors of the compiler's: it does not vectorise these loops itself.
template <int width>
struct PoolLanes {
  using Floats [[gnu::vector_size(width * 4)]] = float;
  using Masks [[gnu::vector_size(width * 4)]] = std::int32_t;
};
template <int width>
using PoolFloats = typename PoolLanes<width>::Floats;
template <int width>
using PoolMasks = typename PoolLanes<width>::Masks;

/// Sets `mask` where x is no NaN, the one value that differs from itself.
template <int width>
[[gnu::always_inline]] static inline void find_numbers(const PoolFloats<width>& x,
                                                       PoolMasks<width>& mask) {
  mask = x == x;  // NOLINT(misc-redundant-expression)
}

/// max_pool2d(): a NaN counts as the largest.
template <int width>
[[gnu::always_inline]] static inline void largest_of(const float* x, const PoolWindows& p,
                                                     PoolFloats<width>& largest) {
  __builtin_memcpy(&largest, x, sizeof largest);
  for (Index ky = 0; ky < p.height; ++ky) {
    const float* line = x + ky * p.line;
    for (Index kx = 0; kx < p.width; ++kx, line += p.channels) {
      PoolFloats<width> value;
      __builtin_memcpy(&value, line, sizeof value);
      PoolMasks<width> is_number;
      find_numbers<width>(largest, is_number);
      const PoolMasks<width> exceeds = ~(value <= largest) & is_number;
      const PoolMasks<width> kept = ~exceeds & __builtin_bit_cast(PoolMasks<width>, largest);
      const PoolMasks<width> taken = exceeds & __builtin_bit_cast(PoolMasks<width>, value);
      largest = __builtin_bit_cast(PoolFloats<width>, kept | taken);
    }
  }
}

struct LargestOf {
  float* y;

  template <int width>
  [[gnu::always_inline]] void run(const float* x, const PoolWindows& p, Index output,
                                  Index /*input*/) const {
    PoolFloats<width> largest;
    largest_of<width>(x, p, largest);
    __builtin_memcpy(y + output, &largest, sizeof largest);
  }
};

struct GradientOf {
  const float* g;
  float* dx;

  template <int width>
  [[gnu::always_inline]] void run(const float* x, const PoolWindows& p, Index output,
                                  Index input) const {
    PoolFloats<width> largest;
    largest_of<width>(x, p, largest);
    PoolFloats<width> gradient;
    __builtin_memcpy(&gradient, g + output, sizeof gradient);
    // A gradient of -0 becomes 0, as a sum with 0 does.
    gradient = gradient + 0.0F;
    // What no pixel has taken yet.
    auto left = __builtin_bit_cast(PoolMasks<width>, gradient);
    PoolMasks<width> is_number;
    find_numbers<width>(largest, is_number);
    for (Index ky = 0; ky < p.height; ++ky) {
      const float* from = x + ky * p.line;
      float* to = dx + input + ky * p.line;
      for (Index kx = 0; kx < p.width; ++kx, from += p.channels, to += p.channels) {
        PoolFloats<width> value;
        __builtin_memcpy(&value, from, sizeof value);
        PoolMasks<width> value_is_number;
        find_numbers<width>(value, value_is_number);
        const PoolMasks<width> takes = (value == largest) | ~(value_is_number | is_number);
        const PoolMasks<width> taken = takes & left;
        left &= ~takes;
        __builtin_memcpy(to, &taken, sizeof taken);
      }
    }
  }
};

struct LargestCodes {
  std::int8_t* y;

  template <int width>
  [[gnu::always_inline]] void run(const std::int8_t* x, const PoolWindows& p, Index output,
                                  Index /*input*/) const {
    using Codes [[gnu::vector_size(width)]] = std::int8_t;
    Codes largest;
    __builtin_memcpy(&largest, x, sizeof largest);
    for (Index ky = 0; ky < p.height; ++ky) {
      const std::int8_t* line = x + ky * p.line;
      for (Index kx = 0; kx < p.width; ++kx, line += p.channels) {
        Codes value;
        __builtin_memcpy(&value, line, sizeof value);
        const Codes exceeds = value > largest;
        largest = (value & exceeds) | (largest & ~exceeds);
      }
    }
    __builtin_memcpy(y + output, &largest, sizeof largest);
  }
};

/// Calls of.run<width>() so that every channel of every window is computed, last by a call that
/// writes none of the others after it.
template <int width, class T, class Of>
[[gnu::always_inline]] static inline void for_each_narrow_window(const T* x, const PoolWindows& p,
                                                                 const Of& of) {
  const Index step = p.width * p.channels;
  Index o = 0;
  // As long as a vector from the last pixel of the window ends inside the windows.
  for (; (p.count - o) * p.channels >= width && (p.count - o - 1) * step + p.channels >= width;
       ++o) {
    of.template run<width>(x + o * step, p, o * p.channels, o * step);
  }
  for (; o < p.count; ++o) {
    for (Index c = 0; c < p.channels; ++c) {
      of.template run<1>(x + o * step + c, p, o * p.channels + c, o * step + c);
    }
  }
}

template <int width, class T, class Of>
[[gnu::always_inline]] static inline void for_each_pool_window(const T* x, const PoolWindows& p,
                                                               const Of& of) {
  constexpr Index kWidth = width;
  if (p.channels <= kWidth / 4) return for_each_narrow_window<kWidth / 4>(x, p, of);
  if (p.channels <= kWidth / 2) return for_each_narrow_window<kWidth / 2>(x, p, of);
  if (p.channels < kWidth) return for_each_narrow_window<kWidth>(x, p, of);
  for (Index o = 0; o < p.count; ++o) {
    const Index output = o * p.channels;
    const Index input = output * p.width;
    // The last vector overlaps the one before it.
    for (Index c = 0; c < p.channels; c += kWidth) {
      const Index at = c + kWidth <= p.channels ? c : p.channels - kWidth;
      of.template run<kWidth>(x + input + at, p, output + at, input + at);
    }
  }
}

static void max_pool(const float* x, const PoolWindows& windows, float* y) {
  for_each_pool_window<16>(x, windows, LargestOf{y});
}

static void max_pool_codes(const std::int8_t* x, const PoolWindows& windows, std::int8_t* y) {
  for_each_pool_window<32>(x, windows, LargestCodes{y});
}

static void max_pool_gradient(const float* x, const float* g, const PoolWindows& windows,
                              float* dx) {
  for_each_pool_window<16>(x, windows, GradientOf{g, dx});
}

}  // namespace octet::passes
