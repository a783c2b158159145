#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/passes_loops.h>
#include <octet/core/kernels/tile_dispatch.h>

#include <cmath>

// Plain loops, the reference that every other path is tested against, bit for bit.

namespace octet {
namespace {

constexpr int kRows = 4;
constexpr int kPackedRows = 4;
constexpr int kCols = 16;

void f32_tile(int rows, Index k, const float* a, Index a_row, Index a_step, const float* panel,
              const TileSums& sums, const TilePrefetch& /*prefetch*/) {
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

void f32_pieces(const PieceTile& tile) {
  const auto [from, from_stride, to, to_stride] = tile.sums;
  const int cols = kCols >> tile.level;
  for (int r = 0; r < tile.rows; ++r) {
    float acc[kCols];
    for (int j = 0; j < cols; ++j) acc[j] = from != nullptr ? from[r * from_stride + j] : 0.0F;
    for (Index p = 0; p < tile.count; ++p) {
      const float* a = tile.a + tile.pieces[p].a + r * tile.a_row;
      const float* b = tile.b + tile.pieces[p].b;
      for (Index k = 0; k < tile.depth; ++k, a += tile.a_step, b += tile.b_stride) {
        for (int j = 0; j < cols; ++j) acc[j] = std::fma(*a, b[j], acc[j]);
      }
    }
    for (int j = 0; j < cols; ++j) to[r * to_stride + j] = acc[j];
  }
}

constexpr int kS8Rows = 4;
constexpr int kS8Cols = 16;
/// Columns that are summed at a time: with four rows, all accumulators fit 16 registers.
constexpr int kS8Columns = 2;
/// The number of 16-bit codes in the smallest vector of any processor.
constexpr int kS8Step = 8;

// Rows and columns both run along k as int16, so that compilers vectorise with an instruction that
// adds pairs of 16-bit products (SSE2: pmaddwd), which cannot overflow here.
struct S8Rows {
  template <int R>
  static void run(const S8Tile& tile) {
    const Index depth = tile.depth;
    const std::int16_t* codes[R];
    for (int r = 0; r < R; ++r) {
      codes[r] = reinterpret_cast<const std::int16_t*>(tile.x + r * tile.x_stride);
    }
    for (int j = 0; j < kS8Cols; j += kS8Columns) {
      const auto* left = reinterpret_cast<const std::int16_t*>(tile.panel) + j * depth;
      const std::int16_t* right = left + depth;
      std::int32_t sums[R][kS8Columns] = {};
      // Not in debug and sanitized builds, where Clang does not vectorise and would warn.
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
        for (int c = 0; c < kS8Columns; ++c) {
          tile.sums[r * tile.sums_stride + j + c] =
              static_cast<std::int32_t>(static_cast<std::uint32_t>(tile.start[j + c]) +
                                        static_cast<std::uint32_t>(sums[r][c]));
        }
      }
    }
  }
};

constexpr passes::PanelSizes kSizes = {.f32_cols = kCols,
                                       .f32_packed_rows = kPackedRows,
                                       .s8_cols = kS8Cols,
                                       .s8_group = 0,
                                       .lanes = 4};

constexpr KernelTable kTable = {.isa = Isa::portable,
                                .f32_rows = kRows,
                                .f32_cols = kSizes.f32_cols,
                                .f32_packed_rows = kSizes.f32_packed_rows,
                                .f32_tile = f32_tile,
                                .f32_pieces = f32_pieces,
                                .s8_rows = kS8Rows,
                                .s8_cols = kSizes.s8_cols,
                                .s8_group = kSizes.s8_group,
                                .s8_depth_step = kS8Step,
                                .s8_x_bytes = sizeof(std::int16_t),
                                .s8_w_bytes = sizeof(std::int16_t),
                                .s8 = {.whole = tiles::dispatch_s8_rows<S8Rows, kS8Rows>},
                                .passes = passes::all<kSizes, std::int16_t>()};
static_assert(fits_tile_buffers(kTable));

}  // namespace

namespace detail {
const KernelTable kPortableKernels = kTable;
}  // namespace detail

}  // namespace octet
