#include <octet/core/kernels/adam_avx512.h>
#include <octet/core/kernels/avx512_intrinsics.h>
#include <octet/core/kernels/codes_avx512.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/passes_loops.h>
#include <octet/core/kernels/pool_avx512.h>
#include <octet/core/kernels/sums_avx512.h>
#include <octet/core/kernels/tile_dispatch.h>
#include <octet/core/kernels/window_tiles.h>

#if defined(OCTET_VNNI)
#include <octet/core/kernels/pack_avx512_vnni.h>
#include <octet/core/kernels/tiles_amx.h>
#endif

// Compiled for AVX-512 F, BW, VL and DQ, and once more with VNNI and AMX (OCTET_VNNI). No function
// of the standard library is called here: see kernels_avx2.cpp. Why these tiles look as they do:
// docs/performance.md, "Float products: tiles" and "Int8 products".

namespace octet {
namespace {

/// 28 accumulators, two vectors of the panel and one of x fill the registers.
constexpr int kRows = 14;
constexpr int kPackedRows = 16;
constexpr int kCols = 32;

/// Rows of `a` per base pointer: the addressing modes of an instruction reach the rows of a group
/// from one register. One pointer per row would need more registers than there are, and GCC 12
/// would spill some to vector registers.
constexpr int kGroup = 5;

struct FloatRows {
  template <int R>
  static void run(Index k, const float* a, Index a_row, Index a_step, const float* panel,
                  const TileSums& sums, const TilePrefetch& prefetch) {
    const auto [from, from_stride, to, to_stride] = sums;
    __m512 acc[R][2];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) {
        acc[r][v] = from != nullptr ? _mm512_loadu_ps(from + r * from_stride + v * 16)
                                    : _mm512_setzero_ps();
      }
    }
    constexpr int kGroups = (R + kGroup - 1) / kGroup;
    const char* groups[kGroups];
    const Index stride = a_row * static_cast<Index>(sizeof(float));
    const Index step = a_step * static_cast<Index>(sizeof(float));
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      groups[g] = reinterpret_cast<const char*>(a) + g * kGroup * stride;
    }
    // With nothing to prefetch, a line that is in the cache already.
    const std::byte* line =
        prefetch.at != nullptr ? prefetch.at : reinterpret_cast<const std::byte*>(a);
    const Index line_step = prefetch.step;
    const Index line_stride = prefetch.stride;
    for (Index kk = 0; kk < k; ++kk, line += line_step) {
      _mm_prefetch(line, _MM_HINT_T1);
      _mm_prefetch(line + line_stride, _MM_HINT_T1);
      const __m512 b0 = _mm512_load_ps(panel + kk * kCols);
      const __m512 b1 = _mm512_load_ps(panel + kk * kCols + 16);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const char* row = groups[r / kGroup] + r % kGroup * stride;
        const __m512 x = _mm512_set1_ps(*reinterpret_cast<const float*>(row));
        acc[r][0] = _mm512_fmadd_ps(x, b0, acc[r][0]);
        acc[r][1] = _mm512_fmadd_ps(x, b1, acc[r][1]);
      }
#pragma GCC unroll 4
      for (int g = 0; g < kGroups; ++g) {
        groups[g] += step;
        // Keeps the compiler from deriving a pointer per row.
        asm("" : "+r"(groups[g]));
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) _mm512_storeu_ps(to + r * to_stride + v * 16, acc[r][v]);
    }
  }
};

struct Wide {
  using Vector = __m512;
  static constexpr int kWidth = 16;
  static Vector zero() { return _mm512_setzero_ps(); }
  static Vector load(const float* p) { return _mm512_loadu_ps(p); }
  static Vector repeat(const float* p) { return _mm512_set1_ps(*p); }
  static Vector fma(Vector a, Vector b, Vector sum) { return _mm512_fmadd_ps(a, b, sum); }
  static void store(float* p, Vector x) { _mm512_storeu_ps(p, x); }
};

/// For few columns: half the width, where two multiply-adds take the time of one of the full width.
struct Narrow {
  using Vector = __m256;
  static constexpr int kWidth = 8;
  static Vector zero() { return _mm256_setzero_ps(); }
  static Vector load(const float* p) { return _mm256_loadu_ps(p); }
  static Vector repeat(const float* p) { return _mm256_broadcast_ss(p); }
  static Vector fma(Vector a, Vector b, Vector sum) { return _mm256_fmadd_ps(a, b, sum); }
  static void store(float* p, Vector x) { _mm256_storeu_ps(p, x); }
};

/// passes::pack_code_rows, which GCC 12 vectorises with short vectors only.
void pack_code_rows(const std::int8_t* a, Index stride, Index depth, int rows, float scale,
                    std::int32_t zero_point, float* out) {
  const auto existing = static_cast<__mmask16>((1U << static_cast<unsigned>(rows)) - 1U);
  const __m512i zero = _mm512_set1_epi32(zero_point);
  const __m512 step = _mm512_set1_ps(scale);
  for (Index k = 0; k < depth; ++k) {
    const __m128i codes = _mm_maskz_loadu_epi8(existing, a + k * stride);
    // Masked, because GCC 12 warns about its own header otherwise.
    const __m512i shifted = _mm512_sub_epi32(_mm512_maskz_cvtepi8_epi32(existing, codes), zero);
    _mm512_storeu_ps(out + k * kPackedRows,
                     _mm512_mul_ps(step, _mm512_maskz_cvtepi32_ps(existing, shifted)));
  }
}

constexpr Passes passes_of_this_path(Passes passes) {
  passes.pack_code_rows = pack_code_rows;
  passes.quantize_even = avx512::quantize<RoundMode::half_to_even>;
  passes.quantize_away = avx512::quantize<RoundMode::half_away>;
  passes.softmax_codes = avx512::softmax_codes;
  passes.add_codes = avx512::add_codes;
  passes.requantize = avx512::requantize;
  passes.requantize_each = avx512::requantize_each;
  passes.adam = avx512::adam;
  passes.max_pool = avx512::max_pool;
  passes.max_pool_gradient = avx512::max_pool_gradient;
#if defined(OCTET_VNNI)
  passes.pack_kernel = vnni::pack_kernel;
#endif
  return passes;
}

#if defined(OCTET_VNNI)
/// Products of at most this many rows are faster without AMX.
constexpr int kFewRows = 4;
#endif

// 24 accumulators: 16 would be enough to hide the latency of the instruction.
constexpr int kS8Rows = 12;
constexpr int kS8Cols = 32;
/// A packed weight, and a prepared code of x.
using Weight = std::int8_t;
#if defined(OCTET_VNNI)
constexpr Isa kIsa = Isa::avx512_vnni;
constexpr int kS8Group = 4;
constexpr int kS8Offset = 128;
using Input = std::uint8_t;
/// Groups that one iteration of the loop adds to the same accumulators.
constexpr int kS8Unroll = 2;
constexpr int kS8DepthStep = kS8Unroll * kS8Group;
constexpr int kPrefetchLines = 1;

__m512i load_weights(const std::int8_t* p) { return _mm512_load_si512(p); }
__m256i load_half(const std::int8_t* p) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
}
using vnni::multiply_add;
#else
constexpr Isa kIsa = Isa::avx512;
constexpr int kS8Group = 2;
constexpr int kS8Offset = 0;
using Input = std::int16_t;
constexpr int kS8Unroll = 1;
/// The number of kernel rows that are packed at a time.
constexpr int kS8DepthStep = 4;
constexpr int kPrefetchLines = 0;

__m512i load_weights(const std::int8_t* p) {
  return _mm512_cvtepi8_epi16(_mm256_load_si256(reinterpret_cast<const __m256i*>(p)));
}
__m256i load_half(const std::int8_t* p) {
  return _mm256_cvtepi8_epi16(_mm_load_si128(reinterpret_cast<const __m128i*>(p)));
}
template <class Vector>
[[gnu::always_inline]] inline void multiply_add(Vector& sum, Vector x, Vector w) {
  // Assembly, because GCC 12 computes products ahead of their sums and runs out of registers.
  Vector product;
  asm("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+v"(sum), "=&v"(product) : "v"(x), "v"(w));
}
#endif

/// Rows of x per base pointer, as kGroup.
constexpr int kRowsPerBase = 4;

/// Computes R rows and `Vectors` vectors of columns; `stored` masks the store of the last vector.
/// Tiles of few sums alternate between several accumulator sets over the groups: with one set,
/// every sum would wait for the latency of the one before. Larger tiles have one set.
template <int R, int Vectors>
[[gnu::always_inline]] inline void s8_rows(const S8Tile& tile, __mmask16 stored) {
  constexpr int kChains = R * Vectors;
  constexpr int kAccumulatorSets = kChains < 8 ? 12 / kChains : 1;
  constexpr int kGroupsPerIteration = kAccumulatorSets == 1 ? kS8Unroll : kAccumulatorSets;
  constexpr int kBases = (R + kRowsPerBase - 1) / kRowsPerBase;
  const std::uint8_t* bases[kBases];
#pragma GCC unroll 4
  for (int b = 0; b < kBases; ++b) bases[b] = tile.x + b * kRowsPerBase * tile.x_stride;
  const Index x_stride = tile.x_stride;
  const std::int8_t* panel = tile.panel;
  const std::byte* prefetch = tile.prefetch;
  const Index prefetch_step = tile.prefetch_step;
  // Copies, because the compiler must assume that the stores below change the tile.
  const std::int32_t* start = tile.start;
  std::int32_t* sums = tile.sums;
  const Index sums_stride = tile.sums_stride;
  __m512i sum[kAccumulatorSets][R][Vectors];
#pragma GCC unroll 16
  for (int u = 0; u < kAccumulatorSets; ++u) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) sum[u][r][v] = _mm512_setzero_si512();
    }
  }
  const auto add_group = [&](int ahead, int u) __attribute__((always_inline)) {
    const std::int8_t* p = panel + ahead * kS8Cols * kS8Group;
    __m512i w[Vectors];
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) w[v] = load_weights(p + v * 16 * kS8Group);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      std::int32_t codes;
      const std::uint8_t* row = bases[r / kRowsPerBase] + r % kRowsPerBase * x_stride;
      __builtin_memcpy(&codes, row + ahead * 4, 4);
      const __m512i broadcast = _mm512_set1_epi32(codes);
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) multiply_add(sum[u][r][v], broadcast, w[v]);
    }
  };
  const auto advance = [&](int by) __attribute__((always_inline)) {
    panel += by * kS8Cols * kS8Group;
#pragma GCC unroll 4
    for (int b = 0; b < kBases; ++b) {
      bases[b] += by * 4;
      // Keeps the compiler from deriving a pointer per row.
      asm("" : "+r"(bases[b]));
    }
  };
  Index left = tile.depth / kS8Group;
  for (; left >= kGroupsPerIteration; left -= kGroupsPerIteration, advance(kGroupsPerIteration)) {
    if constexpr (kAccumulatorSets == 1 && kPrefetchLines > 0) {
      _mm_prefetch(prefetch, _MM_HINT_T1);
      prefetch += prefetch_step;
    }
#pragma GCC unroll 16
    for (int u = 0; u < kGroupsPerIteration; ++u) add_group(u, u % kAccumulatorSets);
  }
  for (; kAccumulatorSets > 1 && left > 0; --left, advance(1)) add_group(0, 0);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) {
#pragma GCC unroll 16
      for (int u = 1; u < kAccumulatorSets; ++u)
        sum[0][r][v] = _mm512_add_epi32(sum[0][r][v], sum[u][r][v]);
      // Adding `start` at the end is faster than initialising the accumulators with it.
      const __m512i total = _mm512_add_epi32(sum[0][r][v], _mm512_loadu_si512(start + v * 16));
      std::int32_t* to = sums + r * sums_stride + v * 16;
      if (v + 1 < Vectors) {
        _mm512_storeu_si512(to, total);
      } else {
        _mm512_mask_storeu_epi32(to, stored, total);
      }
    }
  }
}

struct S8Whole {
  template <int R>
  static void run(const S8Tile& tile) {
    s8_rows<R, 2>(tile, 0xFFFF);
  }
};

struct S8Part {
  template <int R>
  static void run(const S8Tile& tile) {
    const auto unused = static_cast<unsigned>((kS8Cols - tile.cols) % 16);
    const auto stored = static_cast<__mmask16>(0xFFFFU >> unused);
    if (tile.cols <= 16) {
      s8_rows<R, 1>(tile, stored);
    } else {
      s8_rows<R, 2>(tile, stored);
    }
  }
};

constexpr int kNarrowWindowRows = 16;

/// Sums of int8 convolutions: types of this source alone, so that no two paths share a tile.
template <class Lanes>
struct WindowSums : Lanes {
  using Vector = typename Lanes::Vector;
  static constexpr int kWeightBytes = Lanes::kLanes * kS8Group;
  static constexpr int kPanelRow = kS8Cols * kS8Group;
  static Vector load_weights(const std::int8_t* p) {
    if constexpr (Lanes::kLanes == 8) return load_half(p);
    if constexpr (Lanes::kLanes == 16) return octet::load_weights(p);
  }
  [[gnu::always_inline]] static void multiply_add(Vector& sum, Vector x, Vector w) {
    octet::multiply_add(sum, x, w);
  }
};

using WideSums = WindowSums<avx512::WideSums>;
using NarrowSums = WindowSums<avx512::NarrowSums>;

void window_tile(const S8WindowTile& tile) {
  if (tile.cols <= NarrowSums::kLanes) {
    tiles::dispatch_rows<tiles::WindowRows<NarrowSums, 1>, kNarrowWindowRows, const S8WindowTile&>(
        tile.rows, tile);
  } else if (tile.cols <= WideSums::kLanes) {
    tiles::dispatch_rows<tiles::WindowRows<WideSums, 1>, kNarrowWindowRows, const S8WindowTile&>(
        tile.rows, tile);
  } else {
    tiles::dispatch_rows<tiles::WindowRows<WideSums, 2>, kS8Rows, const S8WindowTile&>(tile.rows,
                                                                                       tile);
  }
}

constexpr passes::PanelSizes kSizes = {.f32_cols = kCols,
                                       .f32_packed_rows = kPackedRows,
                                       .s8_cols = kS8Cols,
                                       .s8_group = kS8Group,
                                       .lanes = 16};

constexpr Passes kPasses = passes_of_this_path(passes::all<kSizes, Weight>());

constexpr auto kPieces =
    tiles::dispatch_pieces<tiles::PieceRows<Wide, 2>, tiles::PieceRows<Wide, 1>,
                           tiles::PieceRows<Narrow, 1>, kRows>;

constexpr KernelTable kTable = {.isa = kIsa,
                                .f32_rows = kRows,
                                .f32_cols = kSizes.f32_cols,
                                .f32_packed_rows = kSizes.f32_packed_rows,
                                .f32_tile = tiles::dispatch_rows<FloatRows, kRows>,
                                .f32_pieces = kPieces,
                                .s8_rows = kS8Rows,
                                .s8_cols = kSizes.s8_cols,
                                .s8_group = kSizes.s8_group,
                                .s8_depth_step = kS8DepthStep,
                                .s8_x_bytes = sizeof(Input),
                                .s8_w_bytes = sizeof(Weight),
                                .s8 = {.offset = kS8Offset,
                                       .whole = tiles::dispatch_s8_rows<S8Whole, kS8Rows>,
                                       .part = tiles::dispatch_s8_rows<S8Part, kS8Rows>,
                                       .prefetch_lines = kPrefetchLines},
                                .s8_windows = {.tile = window_tile,
                                               .group = kS8Group,
                                               .rows = kS8Rows,
                                               .narrow_rows = kNarrowWindowRows,
                                               .offset = kS8Offset},
                                .passes = kPasses};
static_assert(fits_tile_buffers(kTable));

#if defined(OCTET_VNNI)
/// The table of AVX-512 with int8 tiles of AMX, which leaves products of few rows as they are.
constexpr KernelTable amx_table() {
  KernelTable table = kTable;
  table.isa = Isa::amx;
  table.s8_rows = amx::kRows;
  table.s8_depth_step = amx::kDepthStep;
  table.s8 = {.whole = amx::multiply_tile,
              .part = amx::multiply_tile,
              .end = amx::end,
              .prefetch_lines = amx::kPrefetchLines};
  table.s8_small_windows = table.s8_windows;
  table.s8_windows = {.tile = amx::window_tile,
                      .group = amx::kDepthStep,
                      .rows = amx::kRows,
                      .narrow_rows = amx::kRows};
  table.s8_few_rows = kFewRows;
  table.s8_few = {.offset = kS8Offset,
                  .whole = tiles::dispatch_s8_rows<S8Whole, kFewRows>,
                  .part = tiles::dispatch_s8_rows<S8Part, kFewRows>};
  return table;
}
constexpr KernelTable kAmxTable = amx_table();
static_assert(fits_tile_buffers(kAmxTable));
#endif

}  // namespace

namespace detail {
#if defined(OCTET_VNNI)
const KernelTable kAvx512VnniKernels
#else
const KernelTable kAvx512Kernels
#endif
    = kTable;
#if defined(OCTET_VNNI)
const KernelTable kAmxKernels = kAmxTable;
#endif
}  // namespace detail

}  // namespace octet
