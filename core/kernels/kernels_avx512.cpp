#include <octet/core/kernels/avx512_intrinsics.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/passes_loops.h>
#include <octet/core/kernels/tile_rows.h>

#if defined(OCTET_VNNI)
#include <octet/core/kernels/pack_avx512_vnni.h>
#include <octet/core/kernels/tiles_amx.h>
#endif

// Compiled for AVX-512 F, BW, VL and DQ, and once more with VNNI and AMX (OCTET_VNNI). No function
// of the standard library is called here: see kernels_avx2.cpp.

namespace octet {
namespace {

/// 28 sums, two vectors of the panel and one of x fill the registers.
constexpr int kRows = 14;
constexpr int kPackedRows = 16;
constexpr int kCols = 32;

/// Rows of `a` in groups of kGroup: one register points at each group, and the addresses of its
/// rows are what an instruction can add up by itself. A pointer for every row is more than there
/// are registers, and GCC 12 then keeps some in those of vectors.
constexpr int kGroup = 5;

struct FloatRows {
  template <int R>
  static void run(Index k, const float* a, Index a_row, Index a_step, const float* panel,
                  const TileSums& sums) {
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
    for (Index kk = 0; kk < k; ++kk) {
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
        // So that no other pointers are made of these.
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

/// As passes::pack_code_rows, of which GCC makes short vectors.
void pack_code_rows(const std::int8_t* a, Index stride, Index depth, int rows, float scale,
                    std::int32_t zero_point, float* out) {
  const auto existing = static_cast<__mmask16>((1U << static_cast<unsigned>(rows)) - 1U);
  const __m512i zero = _mm512_set1_epi32(zero_point);
  const __m512 step = _mm512_set1_ps(scale);
  for (Index k = 0; k < depth; ++k) {
    const __m128i codes = _mm_maskz_loadu_epi8(existing, a + k * stride);
    // GCC 12 warns of its own header where these two have no mask.
    const __m512i shifted = _mm512_sub_epi32(_mm512_maskz_cvtepi8_epi32(existing, codes), zero);
    _mm512_storeu_ps(out + k * kPackedRows,
                     _mm512_mul_ps(step, _mm512_maskz_cvtepi32_ps(existing, shifted)));
  }
}

constexpr Passes passes_of_this_path(Passes passes) {
  passes.pack_code_rows = pack_code_rows;
#if defined(OCTET_VNNI)
  passes.pack_kernel = vnni::pack_kernel;
#endif
  return passes;
}

// 16 sums are enough to hide the latency of the instruction.
constexpr int kS8Rows = 12;
constexpr int kS8Cols = 32;
#if defined(OCTET_VNNI)
constexpr Isa kIsa = Isa::avx512_vnni;
constexpr int kS8Group = 4;
constexpr int kS8Offset = 128;
constexpr int kS8XBytes = 1;

__m512i load_weights(const std::int8_t* p) { return _mm512_load_si512(p); }
__m512i multiply_add(__m512i sum, __m512i x, __m512i w) {
  // By hand: GCC 12 copies the registers of the intrinsic around, which costs a third of the speed.
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
  return sum;
}
#else
constexpr Isa kIsa = Isa::avx512;
constexpr int kS8Group = 2;
constexpr int kS8Offset = 0;
constexpr int kS8XBytes = 2;

__m512i load_weights(const std::int8_t* p) {
  return _mm512_cvtepi8_epi16(_mm256_load_si256(reinterpret_cast<const __m256i*>(p)));
}
__m512i multiply_add(__m512i sum, __m512i x, __m512i w) {
  return _mm512_add_epi32(sum, _mm512_madd_epi16(x, w));
}
#endif

/// Whole groups, and the rows of a kernel that are packed at a time.
constexpr int kS8DepthStep = 4;

/// Of few rows, several groups at a time are summed apart: otherwise every sum waits for the one
/// before.
template <int R>
void s8_rows(Index depth, const std::uint8_t* x, Index x_stride, const std::int8_t* panel,
             const std::int32_t* start, std::int32_t* acc, Index acc_stride) {
  constexpr int kApart = R == 1 ? 6 : R == 2 ? 3 : R == 3 ? 2 : 1;
  const Index groups = depth / kS8Group;
  __m512i sum[kApart][R][2];
#pragma GCC unroll 16
  for (int u = 0; u < kApart; ++u) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      sum[u][r][0] = u == 0 ? _mm512_loadu_si512(start) : _mm512_setzero_si512();
      sum[u][r][1] = u == 0 ? _mm512_loadu_si512(start + 16) : _mm512_setzero_si512();
    }
  }
  const auto add_group = [&](Index g, int u) __attribute__((always_inline)) {
    const std::int8_t* p = panel + g * kS8Cols * kS8Group;
    const __m512i w0 = load_weights(p);
    const __m512i w1 = load_weights(p + kS8Cols / 2 * kS8Group);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      std::int32_t codes;
      __builtin_memcpy(&codes, x + r * x_stride + g * 4, 4);
      const __m512i broadcast = _mm512_set1_epi32(codes);
      sum[u][r][0] = multiply_add(sum[u][r][0], broadcast, w0);
      sum[u][r][1] = multiply_add(sum[u][r][1], broadcast, w1);
    }
  };
  Index g = 0;
  for (; g + kApart <= groups; g += kApart) {
#pragma GCC unroll 16
    for (int u = 0; u < kApart; ++u) add_group(g + u, u);
  }
  for (; g < groups; ++g) add_group(g, 0);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int u = 1; u < kApart; ++u) {
      sum[0][r][0] = _mm512_add_epi32(sum[0][r][0], sum[u][r][0]);
      sum[0][r][1] = _mm512_add_epi32(sum[0][r][1], sum[u][r][1]);
    }
    _mm512_storeu_si512(acc + r * acc_stride, sum[0][r][0]);
    _mm512_storeu_si512(acc + r * acc_stride + 16, sum[0][r][1]);
  }
}

template <int R>
void s8_up_to(int rows, Index depth, const std::uint8_t* x, Index x_stride,
              const std::int8_t* panel, const std::int32_t* start, std::int32_t* acc,
              Index acc_stride) {
  if constexpr (R > 1) {
    if (rows < R) {
      return s8_up_to<R - 1>(rows, depth, x, x_stride, panel, start, acc, acc_stride);
    }
  }
  s8_rows<R>(depth, x, x_stride, panel, start, acc, acc_stride);
}

#if defined(OCTET_VNNI)
/// Few rows are quicker without the tiles of AMX.
void s8_amx(int rows, Index depth, const std::uint8_t* x, Index x_stride, const std::int8_t* panel,
            const std::int32_t* start, std::int32_t* acc, Index acc_stride) {
  constexpr int kFew = 4;
  if (rows <= kFew) {
    return s8_up_to<kFew>(rows, depth, x, x_stride, panel, start, acc, acc_stride);
  }
  amx::s8_tile(rows, depth, x, x_stride, panel, start, acc, acc_stride);
}
#endif

}  // namespace

namespace detail {
#if defined(OCTET_VNNI)
const KernelTable kAvx512VnniKernels
#else
const KernelTable kAvx512Kernels
#endif
    = {kIsa,
       kRows,
       kCols,
       kPackedRows,
       tiles::up_to<FloatRows, kRows>,
       kS8Rows,
       kS8Cols,
       kS8Group,
       kS8DepthStep,
       kS8Offset,
       kS8XBytes,
       1,
       s8_up_to<kS8Rows>,
       passes_of_this_path(passes::all<kCols, kPackedRows, kS8Cols, kS8Group, std::int8_t>())};

#if defined(OCTET_VNNI)
const KernelTable kAmxKernels = {
    Isa::amx,
    kRows,
    kCols,
    kPackedRows,
    tiles::up_to<FloatRows, kRows>,
    amx::kRows,
    kS8Cols,
    kS8Group,
    amx::kDepthStep,
    kS8Offset,
    kS8XBytes,
    1,
    s8_amx,
    passes_of_this_path(passes::all<kCols, kPackedRows, kS8Cols, kS8Group, std::int8_t>())};
#endif
}  // namespace detail

}  // namespace octet
