#pragma once

#include <octet/core/arithmetic/fixed_point.h>
#include <octet/core/arithmetic/round_mode.h>
#include <octet/core/arithmetic/small_round.h>
#include <octet/core/kernels/passes.h>

#include <type_traits>

// The loops that compute codes: quantize, requantize, pack a kernel. As simple as those of
// passes_loops.h. See docs/performance.md, "Vector kernels" and "Packing int8 weights".
//
// `unroll 1` keeps compilers from unrolling loops of 16 completely before they vectorise them.

namespace octet::passes {

/// Clamps x. With integer limits, clamping before rounding gives the same result as after it.
[[gnu::always_inline]] static inline float clamped(float x, float lo, float hi) {
  const float above = x < lo ? lo : x;
  return above > hi ? hi : above;
}

/// Returns the integer nearest to x, ties to even, for |x| <= 2^22: adding kNoFraction leaves it in
/// the low bits of the sum.
[[gnu::always_inline]] static inline std::int32_t nearest_integer(float x) {
  return __builtin_bit_cast(std::int32_t, x + small::kNoFraction) -
         __builtin_bit_cast(std::int32_t, small::kNoFraction);
}

template <RoundMode mode>
[[gnu::always_inline]] static inline float rounded(float x) {
  return mode == RoundMode::half_to_even ? small::round_half_even(x) : small::round_half_away(x);
}

/// Returns the rounded quotient x / scale, clamped; 0 for NaN.
template <RoundMode mode>
[[gnu::always_inline]] static inline std::int32_t divided(float x, float scale, float lo,
                                                          float hi) {
  const float quotient = x / scale;
  return nearest_integer(rounded<mode>(clamped(quotient == quotient ? quotient : 0.0F, lo, hi)));
}

// Multiplying by 1 / scale is faster than dividing, and rounds to the same integer unless the
// product is close to a tie: the three roundings, of 1 / scale, of the product and of the quotient,
// change a number of at most 255.5 by at most 3 * 2^-24 of it, less than 0.00005.
inline constexpr float kClearOfTies = 0.5F - 0.0001F;

[[gnu::always_inline]] static inline float reciprocal(float scale) {
  // NaN if 1 / scale is not a normal number; it compares as close to a tie.
  const bool normal = (scale > 1e-30F) & (scale < 1e30F);
  return normal ? 1.0F / scale : __builtin_nanf("");
}

/// Writes the rounded quotients of rows of x, with row stride `stride`, by scales[j], clamped to
/// [lo, hi].
template <RoundMode mode, int rows, int columns>
[[gnu::always_inline]] static inline void quotients(const float* __restrict x, Index stride,
                                                    const float* __restrict scales,
                                                    const float* __restrict reciprocals, float lo,
                                                    float hi, std::int32_t* __restrict out) {
  std::int32_t unclear[columns] = {};
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 1
    for (int j = 0; j < columns; ++j) {
      const float number = clamped(x[r * stride + j] * reciprocals[j], lo, hi);
      const float fraction = number - small::round_half_even(number);
      out[r * columns + j] = nearest_integer(number);
      unclear[j] |= !(__builtin_fabsf(fraction) <= kClearOfTies);
    }
  }
  std::int32_t any = 0;
#pragma GCC unroll 1
  for (int j = 0; j < columns; ++j) any |= unclear[j];
  if (__builtin_expect(any == 0, 1)) return;
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 1
    for (int j = 0; j < columns; ++j) {
      out[r * columns + j] = divided<mode>(x[r * stride + j], scales[j], lo, hi);
    }
  }
}

template <RoundMode mode>
static void quantize(const float* __restrict in, std::size_t size, const CodeGrid& grid,
                     std::int8_t* __restrict out) {
  constexpr int kRows = 4;
  constexpr int kColumns = 16;
  constexpr std::size_t kBlock = kRows * kColumns;
  const std::int32_t zero_point = grid.zero_point;
  const auto lo = static_cast<float>(grid.qmin - zero_point);
  const auto hi = static_cast<float>(grid.qmax - zero_point);
  float scales[kColumns];
  float reciprocals[kColumns];
  for (int j = 0; j < kColumns; ++j) {
    scales[j] = grid.scale;
    reciprocals[j] = reciprocal(grid.scale);
  }
  std::size_t i = 0;
  for (; i + kBlock <= size; i += kBlock) {
    std::int32_t numbers[kBlock];
    quotients<mode, kRows, kColumns>(in + i, kColumns, scales, reciprocals, lo, hi, numbers);
    for (std::size_t j = 0; j < kBlock; ++j) {
      out[i + j] = static_cast<std::int8_t>(numbers[j] + zero_point);
    }
  }
  for (; i < size; ++i) {
    out[i] = static_cast<std::int8_t>(divided<mode>(in[i], grid.scale, lo, hi) + zero_point);
  }
}

template <bool each>
static void requantize_by(const std::int32_t* __restrict in, std::size_t size,
                          const float* __restrict factors, const CodeGrid& grid,
                          std::int8_t* __restrict out) {
  const float factor = factors[0];
  const std::int32_t zero_point = grid.zero_point;
  const auto lo = static_cast<float>(grid.qmin - zero_point);
  const auto hi = static_cast<float>(grid.qmax - zero_point);
  for (std::size_t i = 0; i < size; ++i) {
    const float scaled = static_cast<float>(in[i]) * (each ? factors[i] : factor);
    out[i] = static_cast<std::int8_t>(nearest_integer(clamped(scaled, lo, hi)) + zero_point);
  }
}

static void requantize(const std::int32_t* in, std::size_t size, float factor, const CodeGrid& grid,
                       std::int8_t* out) {
  requantize_by<false>(in, size, &factor, grid, out);
}

static void requantize_each(const std::int32_t* in, std::size_t size, const float* factors,
                            const CodeGrid& grid, std::int8_t* out) {
  requantize_by<true>(in, size, factors, grid, out);
}

/// Returns x >> by, rounded down. Shifts unsigned numbers, because not every processor has a vector
/// instruction for the signed shift of 64 bits.
[[gnu::always_inline]] static inline std::int64_t shifted_right(std::int64_t x, std::uint64_t by) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63U;
  return static_cast<std::int64_t>(((static_cast<std::uint64_t>(x) ^ kSign) >> by) - (kSign >> by));
}

[[gnu::always_inline]] static inline std::int64_t clamped(std::int64_t x, std::int64_t lo,
                                                          std::int64_t hi) {
  const std::int64_t above = x < lo ? lo : x;
  return above > hi ? hi : above;
}

/// multiply_by_quantized_multiplier_single before it saturates.
[[gnu::always_inline]] static inline std::int64_t rounded_once(std::int32_t x,
                                                               QuantizedMultiplier m) {
  const auto shift = static_cast<std::uint64_t>(std::int64_t{31} - m.shift);
  const auto half = static_cast<std::int64_t>(std::uint64_t{1} << (shift - 1U));
  return shifted_right(std::int64_t{x} * m.multiplier + half, shift);
}

/// multiply_by_quantized_multiplier_double.
[[gnu::always_inline]] static inline std::int64_t rounded_twice(std::int32_t x,
                                                                QuantizedMultiplier m) {
  constexpr std::int64_t kMost = 0x7FFFFFFF;
  const std::int64_t shift = m.shift;
  // A factor of 2^32 already saturates every number but 0.
  const auto left = static_cast<std::uint64_t>(clamped(shift, 0, 32));
  const auto right = static_cast<std::uint64_t>(shift < 0 ? -shift : 0);
  const std::int64_t wide =
      clamped(static_cast<std::int64_t>(static_cast<std::uint64_t>(std::int64_t{x}) << left),
              -kMost - 1, kMost);
  const std::int64_t high = shifted_right(
      static_cast<std::int32_t>(wide) * std::int64_t{m.multiplier} + (1 << 30), std::uint64_t{31});
  const std::int64_t capped = high > kMost ? kMost : high;
  // Ties away from zero: adds one less to a negative number.
  const auto half = static_cast<std::int64_t>((std::uint64_t{1} << right) >> 1U);
  const std::int64_t less = ((capped < 0) & (right > 0U)) ? 1 : 0;
  return shifted_right(capped + half - less, right);
}

template <bool twice>
static void requantize_fixed(const std::int32_t* __restrict in, std::size_t size,
                             const QuantizedMultiplier& factor, const CodeGrid& grid,
                             std::int8_t* __restrict out) {
  const QuantizedMultiplier m = factor;
  const std::int64_t zero_point = grid.zero_point;
  const std::int64_t lo = grid.qmin - zero_point;
  const std::int64_t hi = grid.qmax - zero_point;
  for (std::size_t i = 0; i < size; ++i) {
    const std::int64_t number = twice ? rounded_twice(in[i], m) : rounded_once(in[i], m);
    out[i] = static_cast<std::int8_t>(clamped(number, lo, hi) + zero_point);
  }
}

static void add_codes(const std::int8_t* __restrict first, const std::int8_t* __restrict second,
                      std::size_t size, const CodeSum& sum, const CodeGrid& grid,
                      std::int8_t* __restrict out) {
  const CodeSum by = sum;
  const std::int32_t zero_point = grid.zero_point;
  const std::int32_t lo = grid.qmin - zero_point;
  const std::int32_t hi = grid.qmax - zero_point;
  for (std::size_t i = 0; i < size; ++i) {
    const std::int32_t steps =
        (first[i] * by.first_factor + second[i] * by.second_factor + by.start) >> by.shift;
    const std::int32_t above = steps < lo ? lo : steps;
    out[i] = static_cast<std::int8_t>((above > hi ? hi : above) + zero_point);
  }
}

/// Stores rows of a kernel's codes so that those of a column lie side by side: Group of them in one
/// word, or the whole depth if Group is 0.
template <int Rows, int Columns, int Group, class Code>
[[gnu::always_inline]] static inline void store_codes(const std::int32_t* __restrict codes,
                                                      Index depth, Index k0, Code* __restrict out) {
  if constexpr (Group == 0) {
    for (int j = 0; j < Columns; ++j) {
      for (int r = 0; r < Rows; ++r) {
        out[j * depth + k0 + r] = static_cast<Code>(codes[r * Columns + j]);
      }
    }
  } else {
    using Word = std::conditional_t<Group * sizeof(Code) == 4, std::uint32_t, std::uint16_t>;
    constexpr int kBits = 8 * sizeof(Code);
    constexpr std::uint32_t kMask = (1U << kBits) - 1U;
    auto* words = reinterpret_cast<Word*>(out + k0 * Columns);
    for (int g = 0; g < Rows; g += Group) {
#pragma GCC unroll 1
      for (int j = 0; j < Columns; ++j) {
        std::uint32_t word = 0;
        for (int r = 0; r < Group; ++r) {
          const auto code = static_cast<std::uint32_t>(codes[(g + r) * Columns + j]);
          word |= (code & kMask) << (kBits * r);
        }
        words[g / Group * Columns + j] = static_cast<Word>(word);
      }
    }
  }
}

/// The state of packing columns of a kernel into one panel. Members are always inlined, so that
/// code paths share no compiled code.
template <int Columns>
struct KernelPacking {
  const float* data;
  Index stride, k, depth;
  /// Columns that exist in the kernel; the rest of the panel is padding.
  int valid;
  std::int8_t* codes;
  float lo, hi;
  float scales[Columns];
  float reciprocals[Columns];
  std::int32_t sums[Columns];
  std::int32_t magnitudes[Columns];

  [[gnu::always_inline]] void begin(const KernelColumns& from, const KernelPanels& to,
                                    Index first) {
    data = from.data + first;
    stride = from.stride;
    k = from.k;
    depth = from.depth;
    valid = static_cast<int>(from.columns - first < Columns ? from.columns - first : Columns);
    codes = to.codes + first / Columns * to.panel_bytes;
    lo = static_cast<float>(from.qmin);
    hi = static_cast<float>(from.qmax);
    for (int j = 0; j < Columns; ++j) {
      scales[j] = j < valid ? from.scales[(first + j) * from.scale_stride] : 1.0F;
      reciprocals[j] = reciprocal(scales[j]);
      sums[j] = magnitudes[j] = 0;
    }
  }

  /// Whether rows [k0, k0 + rows) and all columns of the panel exist in the kernel.
  [[gnu::always_inline]] bool is_whole(Index k0, int rows) const {
    return valid == Columns && k0 + rows <= k;
  }

  /// Zeroes the padding rows from k0 on.
  template <class Code>
  [[gnu::always_inline]] void pad(Index k0) const {
    constexpr Index kRowBytes = Columns * static_cast<Index>(sizeof(Code));
    __builtin_memset(codes + k0 * kRowBytes, 0, static_cast<std::size_t>((depth - k0) * kRowBytes));
  }

  [[gnu::always_inline]] void finish(const KernelPanels& to, Index first) const {
    for (int j = 0; j < valid; ++j) {
      to.sums[first + j] = sums[j];
      to.magnitudes[first + j] = magnitudes[j];
    }
  }
};

/// Packs rows [k0, k0 + Rows).
template <int Rows, int Columns, int Group, class Code>
[[gnu::always_inline]] static inline void pack_rows_of_kernel(KernelPacking<Columns>& packing,
                                                              Index k0) {
  const Index stride = packing.stride;
  const float* x = packing.data + k0 * stride;
  const bool whole = packing.is_whole(k0, Rows);
  float block[Rows * Columns];
  if (!whole) {
    const int valid = packing.valid;
    const Index rows = packing.k - k0;
    for (int r = 0; r < Rows; ++r) {
      for (int j = 0; j < Columns; ++j) {
        block[r * Columns + j] = j < valid && r < rows ? x[r * stride + j] : 0.0F;
      }
    }
  }
  std::int32_t codes[Rows * Columns];
  quotients<RoundMode::half_away, Rows, Columns>(whole ? x : block, whole ? stride : Columns,
                                                 packing.scales, packing.reciprocals, packing.lo,
                                                 packing.hi, codes);
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 1
    for (int j = 0; j < Columns; ++j) {
      const std::int32_t code = codes[r * Columns + j];
      packing.sums[j] += code;
      packing.magnitudes[j] += code < 0 ? -code : code;
    }
  }
  store_codes<Rows, Columns, Group>(codes, packing.depth, k0,
                                    reinterpret_cast<Code*>(packing.codes));
}

/// Packs `rows` rows of all panels at a time, up to row `last`, with pack_some(packing, k0) for
/// each panel. Reads up to 1 KiB of each row, in memory order, which the hardware prefetcher
/// follows; panel by panel, consecutive reads would lie on different pages.
template <int Columns, class Code, class PackSome>
[[gnu::always_inline]] static inline void pack_panels(const KernelColumns& from,
                                                      const KernelPanels& to, Index rows,
                                                      Index last, PackSome pack_some) {
  static_assert(kMaxKernelColumns % Columns == 0);
  KernelPacking<Columns> packings[kMaxKernelColumns / Columns];
  int panels = 0;
  for (Index j = 0; j < from.columns; j += Columns) packings[panels++].begin(from, to, j);
  Index k0 = 0;
  for (; k0 < last; k0 += rows) {
    for (int p = 0; p < panels; ++p) pack_some(packings[p], k0);
  }
  for (int p = 0; p < panels; ++p) {
    if (k0 < from.depth) packings[p].template pad<Code>(k0);
    packings[p].finish(to, p * Columns);
  }
}

template <int Columns, int Group, class Code>
static void pack_kernel(const KernelColumns& from, const KernelPanels& to) {
  constexpr int kRows = Group == 0 ? 8 : 4;
  pack_panels<Columns, Code>(
      from, to, kRows, Group == 0 ? from.depth : from.k,
      [](KernelPacking<Columns> & packing, Index k0) __attribute__((always_inline)) {
        pack_rows_of_kernel<kRows, Columns, Group, Code>(packing, k0);
      });
}

}  // namespace octet::passes
