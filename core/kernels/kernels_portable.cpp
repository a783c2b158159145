#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/passes_loops.h>
#include <octet/core/kernels/tile_rows.h>

#include <cmath>

// Plain loops: what every other path is tested against, bit for bit.

namespace octet {
namespace {

constexpr int kRows = 4;
constexpr int kPackedRows = 4;
constexpr int kCols = 16;

void f32_tile(int rows, Index k, const float* a, Index a_row, Index a_step, const float* panel,
              const TileSums& sums, const SoonLines& /*soon*/) {
  const auto [from, from_stride, to, to_stride] = sums;
  for (int r = 0; r < rows; ++r) {
    float acc[kCols];
    for (int j = 0; j < kCols; ++j) acc[j] = from != nullptr ? from[r * from_stride + j] : 0.0F;
    for (Index kk = 0; kk < k; ++kk) {
      const float x = a[r * a_row + kk * a_step];
      for (int j = 0; j < kCols; ++j) acc[j] = std::fma(x, panel[kk * kCols + j], acc[j]);
    }
    for (int j = 0; j < kCols; ++j) to[r * to_stride + j] = acc[j];
  }
}

constexpr int kS8Rows = 4;
constexpr int kS8Cols = 16;
/// Columns whose sums are made side by side: with four rows all sums stay in 16 registers.
constexpr int kS8Side = 2;
/// Codes of 16 bits in the smallest vector that any processor has.
constexpr int kS8Step = 8;

// Rows and columns both lie along k as int16, so that compilers make vectors of pairs of products
// (SSE2: pmaddwd), which no 16 by 16 bit product and sum of two can leave.
struct S8Rows {
  template <int R>
  static void run(const S8Tile& tile) {
    const Index depth = tile.depth;
    const std::int16_t* codes[R];
    for (int r = 0; r < R; ++r) {
      codes[r] = reinterpret_cast<const std::int16_t*>(tile.x + r * tile.x_stride);
    }
    for (int j = 0; j < kS8Cols; j += kS8Side) {
      const auto* left = reinterpret_cast<const std::int16_t*>(tile.panel) + j * depth;
      const std::int16_t* right = left + depth;
      std::int32_t sums[R][kS8Side] = {};
      // Not in debug and sanitized builds, where Clang makes no vectors and would warn.
#if defined(__clang__) && defined(NDEBUG)
#pragma clang loop vectorize_width(8) interleave_count(1)
#endif
      for (Index k = 0; k < depth; ++k) {
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
          sums[r][0] += codes[r][k] * left[k];
          sums[r][1] += codes[r][k] * right[k];
        }
      }
      for (int r = 0; r < R; ++r) {
        for (int c = 0; c < kS8Side; ++c) {
          tile.sums[r * tile.sums_stride + j + c] =
              static_cast<std::int32_t>(static_cast<std::uint32_t>(tile.start[j + c]) +
                                        static_cast<std::uint32_t>(sums[r][c]));
        }
      }
    }
  }
};

}  // namespace

namespace detail {
const KernelTable kPortableKernels = {Isa::portable,
                                      kRows,
                                      kCols,
                                      kPackedRows,
                                      f32_tile,
                                      kS8Rows,
                                      kS8Cols,
                                      0,
                                      kS8Step,
                                      2,
                                      2,
                                      {0, tiles::s8_up_to<S8Rows, kS8Rows>},
                                      passes::all<kCols, kPackedRows, kS8Cols, 0, std::int16_t>()};
}  // namespace detail

}  // namespace octet
