#include <arm_neon.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/passes_loops.h>
#include <octet/core/kernels/tile_dispatch.h>

#include <utility>

// For AArch64: compiled for its baseline, and once more with the dot products of Armv8.2
// (OCTET_DOTPROD). No function of the standard library is called here: the linker could keep the
// copy of an inline one that needs more than the baseline for all code paths.

namespace octet {
namespace {

struct Floats {
  using Vector = float32x4_t;
  static constexpr int kWidth = 4;
  static constexpr int kVectors = 4;
  static Vector zero() { return vdupq_n_f32(0.0F); }
  static Vector load(const float* p) { return vld1q_f32(p); }
  static Vector load_panel(const float* p) { return vld1q_f32(p); }
  static Vector repeat(const float* p) { return vld1q_dup_f32(p); }
  static Vector fma(Vector a, Vector b, Vector sum) { return vfmaq_f32(sum, a, b); }
  static void store(float* p, Vector x) { vst1q_f32(p, x); }
};

// 20 accumulators, a row of the panel and elements of the other operand; compilers spill some
// of 24.
constexpr int kRows = 5;
constexpr int kPackedRows = 8;
constexpr int kCols = Floats::kVectors * Floats::kWidth;

constexpr int kS8Rows = 4;
constexpr int kS8Cols = 16;
constexpr int kS8Vectors = kS8Cols / 4;
/// A packed weight; codes of x are of the same size.
using Weight = std::int8_t;

#if defined(OCTET_DOTPROD)
constexpr Isa kIsa = Isa::neon_dotprod;
constexpr int kS8Group = 4;
/// The number of codes of a row that one register holds.
constexpr int kS8DepthStep = 16;
using Codes = int8x16_t;

[[gnu::always_inline]] inline Codes load_codes(const std::uint8_t* x) {
  return vreinterpretq_s8_u8(vld1q_u8(x));
}

/// Adds the products of a group of the codes with the weights of all columns.
template <int group>
[[gnu::always_inline]] inline void add_group(int32x4_t* sum, Codes x, const std::int8_t* w) {
#pragma GCC unroll 4
  for (int v = 0; v < kS8Vectors; ++v) {
    sum[v] = vdotq_laneq_s32(sum[v], vld1q_s8(w + v * 16), x, group);
  }
}
#else
constexpr Isa kIsa = Isa::neon;
constexpr int kS8Group = 2;
constexpr int kS8DepthStep = 8;
using Codes = const std::uint8_t*;

[[gnu::always_inline]] inline Codes load_codes(const std::uint8_t* x) { return x; }

// A product of codes fits 16 bits, but the sum of two does not: -128 * -128 twice.
template <int group>
[[gnu::always_inline]] inline void add_group(int32x4_t* sum, Codes x, const std::int8_t* w) {
  std::int16_t codes;
  __builtin_memcpy(&codes, x + group * kS8Group, sizeof(codes));
  const int8x16_t pair = vreinterpretq_s8_s16(vdupq_n_s16(codes));
#pragma GCC unroll 2
  for (int v = 0; v < kS8Vectors; v += 2) {
    const int8x16_t weights = vld1q_s8(w + v * 8);
    sum[v] = vpadalq_s16(sum[v], vmull_s8(vget_low_s8(pair), vget_low_s8(weights)));
    sum[v + 1] = vpadalq_s16(sum[v + 1], vmull_high_s8(pair, weights));
  }
}
#endif
constexpr int kGroupBytes = kS8Cols * kS8Group;

/// Tiles of few rows alternate between several accumulator sets over the groups: with one set,
/// every sum would wait for the latency of the one before.
template <int R>
constexpr int kAccumulatorSets = R == 1   ? 4
                                 : R == 2 ? 2
                                          : 1;

template <int R, int... groups>
[[gnu::always_inline]] inline void add_step(int32x4_t (&sum)[kAccumulatorSets<R>][R][kS8Vectors],
                                            const Codes* x, const std::int8_t* w,
                                            std::integer_sequence<int, groups...> /*indices*/) {
  const auto add_rows = [&]<int group>(std::integral_constant<int, group> /*index*/)
      __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      add_group<group>(sum[group % kAccumulatorSets<R>][r], x[r], w + group * kGroupBytes);
    }
  };
  (add_rows(std::integral_constant<int, groups>()), ...);
}

struct S8Rows {
  template <int R>
  static void run(const S8Tile& tile) {
    int32x4_t sum[kAccumulatorSets<R>][R][kS8Vectors];
#pragma GCC unroll 4
    for (int u = 0; u < kAccumulatorSets<R>; ++u) {
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
        for (int v = 0; v < kS8Vectors; ++v) {
          sum[u][r][v] = u == 0 ? vld1q_s32(tile.start + v * 4) : vdupq_n_s32(0);
        }
      }
    }
    for (Index k = 0; k < tile.depth; k += kS8DepthStep) {
      Codes codes[R];
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) codes[r] = load_codes(tile.x + r * tile.x_stride + k);
      add_step<R>(sum, codes, tile.panel + k * kS8Cols,
                  std::make_integer_sequence<int, kS8DepthStep / kS8Group>());
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kS8Vectors; ++v) {
#pragma GCC unroll 4
        for (int u = 1; u < kAccumulatorSets<R>; ++u)
          sum[0][r][v] = vaddq_s32(sum[0][r][v], sum[u][r][v]);
        vst1q_s32(tile.sums + r * tile.sums_stride + v * 4, sum[0][r][v]);
      }
    }
  }
};

constexpr passes::PanelSizes kSizes = {.f32_cols = kCols,
                                       .f32_packed_rows = kPackedRows,
                                       .s8_cols = kS8Cols,
                                       .s8_group = kS8Group,
                                       .lanes = 4};

constexpr KernelTable kTable = {
    .isa = kIsa,
    .f32_rows = kRows,
    .f32_cols = kSizes.f32_cols,
    .f32_packed_rows = kSizes.f32_packed_rows,
    .f32_tile = tiles::dispatch_rows<tiles::VectorFloatRows<Floats>, kRows>,
    .f32_pieces = tiles::dispatch_pieces<tiles::PieceRows<Floats, 4>, tiles::PieceRows<Floats, 2>,
                                         tiles::PieceRows<Floats, 1>, kRows>,
    .s8_rows = kS8Rows,
    .s8_cols = kSizes.s8_cols,
    .s8_group = kSizes.s8_group,
    .s8_depth_step = kS8DepthStep,
    .s8_x_bytes = sizeof(Weight),
    .s8_w_bytes = sizeof(Weight),
    .s8 = {.whole = tiles::dispatch_s8_rows<S8Rows, kS8Rows>},
    .passes = passes::all<kSizes, Weight>()};
static_assert(fits_tile_buffers(kTable));

}  // namespace

namespace detail {
#if defined(OCTET_DOTPROD)
const KernelTable kNeonDotprodKernels
#else
const KernelTable kNeonKernels
#endif
    = kTable;
}  // namespace detail

}  // namespace octet
