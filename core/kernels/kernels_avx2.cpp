#include <immintrin.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/passes_loops.h>
#include <octet/core/kernels/tile_dispatch.h>
#include <octet/core/kernels/window_tiles.h>

// Compiled for AVX2 and FMA, and once more with AVX-VNNI (OCTET_VNNI). No function of the standard
// library is called here: the linker could keep the AVX2 copy of an inline one for all code paths.

namespace octet {
namespace {

struct Floats {
  using Vector = __m256;
  static constexpr int kWidth = 8;
  static constexpr int kVectors = 2;
  static Vector zero() { return _mm256_setzero_ps(); }
  static Vector load(const float* p) { return _mm256_loadu_ps(p); }
  static Vector load_panel(const float* p) { return _mm256_load_ps(p); }
  static Vector repeat(const float* p) { return _mm256_broadcast_ss(p); }
  static Vector fma(Vector a, Vector b, Vector sum) { return _mm256_fmadd_ps(a, b, sum); }
  static void store(float* p, Vector x) { _mm256_storeu_ps(p, x); }
};

struct NarrowFloats {
  using Vector = __m128;
  static constexpr int kWidth = 4;
  static Vector zero() { return _mm_setzero_ps(); }
  static Vector load(const float* p) { return _mm_loadu_ps(p); }
  static Vector repeat(const float* p) { return _mm_broadcast_ss(p); }
  static Vector fma(Vector a, Vector b, Vector sum) { return _mm_fmadd_ps(a, b, sum); }
  static void store(float* p, Vector x) { _mm_storeu_ps(p, x); }
};

constexpr int kRows = 6;
constexpr int kPackedRows = 8;
constexpr int kCols = Floats::kVectors * Floats::kWidth;

// 12 accumulators, the weights, a code of x and a product fill the registers.
constexpr int kS8Rows = 6;
constexpr int kS8Cols = 16;
#if defined(OCTET_VNNI)
constexpr Isa kIsa = Isa::avx_vnni;
using Weight = std::int8_t;
constexpr int kS8Group = 4;
constexpr int kS8Offset = 128;

__m256i multiply_add(__m256i sum, __m256i x, __m256i w) {
  // Assembly, because GCC 12 adds register copies to the intrinsic.
  asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(x), "x"(w));
  return sum;
}
#else
// The u8 x s8 pair instruction of AVX2 saturates; widening to 16 bits first is exact.
constexpr Isa kIsa = Isa::avx2;
using Weight = std::int16_t;
constexpr int kS8Group = 2;
constexpr int kS8Offset = 0;

__m256i multiply_add(__m256i sum, __m256i x, __m256i w) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(x, w));
}
#endif

/// A multiple of both groups, and the number of kernel rows that are packed at a time.
constexpr int kS8DepthStep = 4;

/// Tiles of few rows alternate between several accumulator sets over the groups: with one set,
/// every sum would wait for the latency of the one before.
struct S8Rows {
  template <int R>
  static void run(const S8Tile& tile) {
    constexpr int kAccumulatorSets = R == 1 ? 4 : R == 2 ? 3 : R == 3 ? 2 : 1;
    const Index groups = tile.depth / kS8Group;
    __m256i sum[kAccumulatorSets][R][2];
    const auto* first = reinterpret_cast<const __m256i*>(tile.start);
#pragma GCC unroll 8
    for (int u = 0; u < kAccumulatorSets; ++u) {
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        sum[u][r][0] = u == 0 ? _mm256_loadu_si256(first) : _mm256_setzero_si256();
        sum[u][r][1] = u == 0 ? _mm256_loadu_si256(first + 1) : _mm256_setzero_si256();
      }
    }
    const auto add_group = [&](Index g, int u) __attribute__((always_inline)) {
      const auto* p = reinterpret_cast<const __m256i*>(tile.panel) + g * 2;
      const __m256i w0 = _mm256_load_si256(p);
      const __m256i w1 = _mm256_load_si256(p + 1);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        std::int32_t codes;
        __builtin_memcpy(&codes, tile.x + r * tile.x_stride + g * 4, 4);
        const __m256i broadcast = _mm256_set1_epi32(codes);
        sum[u][r][0] = multiply_add(sum[u][r][0], broadcast, w0);
        sum[u][r][1] = multiply_add(sum[u][r][1], broadcast, w1);
      }
    };
    Index g = 0;
    for (; g + kAccumulatorSets <= groups; g += kAccumulatorSets) {
#pragma GCC unroll 8
      for (int u = 0; u < kAccumulatorSets; ++u) add_group(g + u, u);
    }
    for (; g < groups; ++g) add_group(g, 0);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int u = 1; u < kAccumulatorSets; ++u) {
        sum[0][r][0] = _mm256_add_epi32(sum[0][r][0], sum[u][r][0]);
        sum[0][r][1] = _mm256_add_epi32(sum[0][r][1], sum[u][r][1]);
      }
      auto* out = reinterpret_cast<__m256i*>(tile.sums + r * tile.sums_stride);
      _mm256_storeu_si256(out, sum[0][r][0]);
      _mm256_storeu_si256(out + 1, sum[0][r][1]);
    }
  }
};

/// Sums of int8 convolutions. A tile of one vector has twice as many rows.
struct WindowSums {
  using Vector = __m256i;
  static constexpr int kLanes = 8;
  static constexpr int kWeightBytes = kLanes * kS8Group * static_cast<int>(sizeof(Weight));
  static constexpr int kPanelRow = 2 * kWeightBytes;
  static Vector zero() { return _mm256_setzero_si256(); }
  static Vector load(const std::int32_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static Vector load_weights(const std::int8_t* p) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
  }
  static Vector repeat(std::int32_t codes) { return _mm256_set1_epi32(codes); }
  static Vector add(Vector a, Vector b) { return _mm256_add_epi32(a, b); }
  [[gnu::always_inline]] static void multiply_add(Vector& sum, Vector x, Vector w) {
#if defined(OCTET_VNNI)
    sum = octet::multiply_add(sum, x, w);
#else
    // Assembly, because GCC 12 computes products ahead of their sums and runs out of registers.
    Vector product;
    asm("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(sum), "=&x"(product) : "x"(x), "x"(w));
#endif
  }
  static void store(std::int32_t* to, int count, Vector sums) {
    // Masked stores are slow on some processors.
    if (count == kLanes) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), sums);
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    _mm256_maskstore_epi32(to, _mm256_cmpgt_epi32(_mm256_set1_epi32(count), lanes), sums);
  }
};

constexpr int kNarrowWindowRows = 12;

void window_tile(const S8WindowTile& tile) {
  if (tile.cols <= WindowSums::kLanes) {
    tiles::dispatch_rows<tiles::WindowRows<WindowSums, 1>, kNarrowWindowRows, const S8WindowTile&>(
        tile.rows, tile);
  } else {
    tiles::dispatch_rows<tiles::WindowRows<WindowSums, 2>, kS8Rows, const S8WindowTile&>(tile.rows,
                                                                                         tile);
  }
}

constexpr passes::PanelSizes kSizes = {.f32_cols = kCols,
                                       .f32_packed_rows = kPackedRows,
                                       .s8_cols = kS8Cols,
                                       .s8_group = kS8Group,
                                       .lanes = 8};

constexpr KernelTable kTable = {
    .isa = kIsa,
    .f32_rows = kRows,
    .f32_cols = kSizes.f32_cols,
    .f32_packed_rows = kSizes.f32_packed_rows,
    .f32_tile = tiles::dispatch_rows<tiles::VectorFloatRows<Floats>, kRows>,
    .f32_pieces = tiles::dispatch_pieces<tiles::PieceRows<Floats, 2>, tiles::PieceRows<Floats, 1>,
                                         tiles::PieceRows<NarrowFloats, 1>, kRows>,
    .s8_rows = kS8Rows,
    .s8_cols = kSizes.s8_cols,
    .s8_group = kSizes.s8_group,
    .s8_depth_step = kS8DepthStep,
    .s8_x_bytes = sizeof(Weight),
    .s8_w_bytes = sizeof(Weight),
    .s8 = {.offset = kS8Offset, .whole = tiles::dispatch_s8_rows<S8Rows, kS8Rows>},
    .s8_windows = {.tile = window_tile,
                   .group = kS8Group,
                   .rows = kS8Rows,
                   .narrow_rows = kNarrowWindowRows,
                   .offset = kS8Offset},
    .passes = passes::all<kSizes, Weight>()};
static_assert(fits_tile_buffers(kTable));

}  // namespace

namespace detail {
#if defined(OCTET_VNNI)
const KernelTable kAvxVnniKernels
#else
const KernelTable kAvx2Kernels
#endif
    = kTable;
}  // namespace detail

}  // namespace octet
