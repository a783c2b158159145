#include <immintrin.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/passes_loops.h>

// Compiled for AVX2 and FMA. No function of the standard library is called here: an inline one
// compiled for AVX2 could be the copy that the linker keeps for everyone.

namespace octet {
namespace {

constexpr int kRows = 6;
constexpr int kPackedRows = 8;
constexpr int kCols = 16;

template <int R>
void f32_rows(Index k, const float* a, Index a_row, Index a_step, const float* panel, float* c,
              Index c_stride, bool from_c) {
  __m256 acc[R][2];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      acc[r][v] = from_c ? _mm256_loadu_ps(c + r * c_stride + v * 8) : _mm256_setzero_ps();
    }
  }
  for (Index kk = 0; kk < k; ++kk) {
    const __m256 b0 = _mm256_load_ps(panel + kk * kCols);
    const __m256 b1 = _mm256_load_ps(panel + kk * kCols + 8);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const __m256 x = _mm256_broadcast_ss(a + r * a_row + kk * a_step);
      acc[r][0] = _mm256_fmadd_ps(x, b0, acc[r][0]);
      acc[r][1] = _mm256_fmadd_ps(x, b1, acc[r][1]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) _mm256_storeu_ps(c + r * c_stride + v * 8, acc[r][v]);
  }
}

template <int R>
void f32_up_to(int rows, Index k, const float* a, Index a_row, Index a_step, const float* panel,
               float* c, Index c_stride, bool from_c) {
  if constexpr (R > 1) {
    if (rows < R) return f32_up_to<R - 1>(rows, k, a, a_row, a_step, panel, c, c_stride, from_c);
  }
  f32_rows<R>(k, a, a_row, a_step, panel, c, c_stride, from_c);
}

constexpr int kS8Rows = 4;
constexpr int kS8Cols = 16;
constexpr int kS8Group = 2;

// The u8 x s8 pair instruction of AVX2 saturates; widening to 16 bits first is exact.
template <int R>
void s8_rows(Index groups, const std::uint8_t* x, Index x_stride, const std::int8_t* panel,
             const std::int32_t* start, std::int32_t* acc, Index acc_stride) {
  __m256i sum[R][2];
  const auto* first = reinterpret_cast<const __m256i*>(start);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    sum[r][0] = _mm256_loadu_si256(first);
    sum[r][1] = _mm256_loadu_si256(first + 1);
  }
  for (Index g = 0; g < groups; ++g) {
    const auto* p = reinterpret_cast<const __m128i*>(panel + g * kS8Cols * kS8Group);
    const __m256i w0 = _mm256_cvtepi8_epi16(_mm_load_si128(p));
    const __m256i w1 = _mm256_cvtepi8_epi16(_mm_load_si128(p + 1));
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      std::int32_t pair;
      __builtin_memcpy(&pair, x + r * x_stride + g * 4, 4);
      const __m256i codes = _mm256_set1_epi32(pair);
      sum[r][0] = _mm256_add_epi32(sum[r][0], _mm256_madd_epi16(codes, w0));
      sum[r][1] = _mm256_add_epi32(sum[r][1], _mm256_madd_epi16(codes, w1));
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    auto* out = reinterpret_cast<__m256i*>(acc + r * acc_stride);
    _mm256_storeu_si256(out, sum[r][0]);
    _mm256_storeu_si256(out + 1, sum[r][1]);
  }
}

void s8_tile(int rows, Index groups, const std::uint8_t* x, Index x_stride,
             const std::int8_t* panel, const std::int32_t* start, std::int32_t* acc,
             Index acc_stride) {
  switch (rows) {
    case 1:
      return s8_rows<1>(groups, x, x_stride, panel, start, acc, acc_stride);
    case 2:
      return s8_rows<2>(groups, x, x_stride, panel, start, acc, acc_stride);
    case 3:
      return s8_rows<3>(groups, x, x_stride, panel, start, acc, acc_stride);
    default:
      return s8_rows<kS8Rows>(groups, x, x_stride, panel, start, acc, acc_stride);
  }
}

}  // namespace

namespace detail {
const KernelTable kAvx2Kernels = {Isa::avx2,
                                  kRows,
                                  kCols,
                                  kPackedRows,
                                  f32_up_to<kRows>,
                                  kS8Rows,
                                  kS8Cols,
                                  kS8Group,
                                  0,
                                  2,
                                  s8_tile,
                                  passes::all<kCols, kPackedRows, kS8Cols, kS8Group>()};
}  // namespace detail

}  // namespace octet
