#pragma once

#include <octet/core/kernels/passes.h>
#include <octet/core/shape.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace octet {

/// Code paths of the kernels, from the plainest up. All of them give the same bits.
enum class Isa { portable, avx2, avx_vnni, avx512, avx512_vnni, amx, neon, neon_dotprod };

std::string_view to_string(Isa isa);

/// Where a float tile reads its initial sums (null: all are 0) and where it writes its results.
struct TileSums {
  const float* from;
  Index from_stride;
  float* to;
  Index to_stride;
};

/// Memory that a float tile prefetches into the second-level cache: at every k the cache lines at
/// `at` and `at + stride`, after which `at` advances by `step`. All in bytes; `at` null: nothing.
struct TilePrefetch {
  const std::byte* at = nullptr;
  Index step = 0;
  Index stride = 0;
};

/// Where one piece of a PieceTile begins, in floats from its first elements.
struct TilePiece {
  Index a;
  Index b;
};

/// One tile of a float product whose operands lie in pieces, as the pixels that a convolution reads
/// do: k runs over all pieces in order and over `depth` elements of each. Element (r, k) of a piece
/// is a[piece.a + r * a_row + k * a_step]; its columns are b[piece.b + k * b_stride] and following,
/// f32_cols >> level of them.
struct PieceTile {
  int rows = 0;
  int level = 0;
  Index depth = 0;
  const float* a = nullptr;
  Index a_row = 0;
  Index a_step = 0;
  const float* b = nullptr;
  Index b_stride = 0;
  const TilePiece* pieces = nullptr;
  Index count = 0;
  TileSums sums = {};
};

/// PieceTile::level goes up to this.
inline constexpr int kMostNarrow = 2;

/// One tile of an int8 product: sums[r, j] = start[j] + sum over k of x[r, k] * panel[k, j], modulo
/// 2^32, for r < rows <= s8_rows and the columns of a panel.
struct S8Tile {
  int rows = 0;
  int cols = 0;
  /// A multiple of s8_depth_step.
  Index depth = 0;
  /// Prepared rows; the stride is in bytes.
  const std::uint8_t* x = nullptr;
  Index x_stride = 0;
  const std::int8_t* panel = nullptr;
  const std::int32_t* start = nullptr;
  std::int32_t* sums = nullptr;
  Index sums_stride = 0;
  /// Memory to prefetch into the second-level cache: the next `prefetch_step` bytes for every
  /// s8_depth_step of depth.
  const std::byte* prefetch = nullptr;
  Index prefetch_step = 0;
};

/// One tile of an int8 convolution, whose rows are outputs of one line: sums[r, j] = start[j] + sum
/// over i < groups of the products of group i of row r with group i of the panel, modulo 2^32, for
/// r < rows and j < cols <= s8_cols. A group is S8Windows::group prepared codes at
/// x + r * x_stride + offsets[i].
struct S8WindowTile {
  int rows = 0;
  int cols = 0;
  Index groups = 0;
  const Index* offsets = nullptr;
  /// Prepared codes; the stride is in bytes.
  const std::uint8_t* x = nullptr;
  Index x_stride = 0;
  const std::int8_t* panel = nullptr;
  /// s8_cols of them.
  const std::int32_t* start = nullptr;
  std::int32_t* sums = nullptr;
  Index sums_stride = 0;
};

/// The tile functions of an int8 product.
struct S8Tiles {
  /// Added to every code of x to fit the instruction's operand (128 where that is unsigned); the
  /// driver subtracts `offset` times the sum of the weights again.
  int offset = 0;
  /// Computes all s8_cols columns.
  void (*whole)(const S8Tile& tile) = nullptr;
  /// Computes the first `cols` columns alone; null: the driver computes all and copies these.
  void (*part)(const S8Tile& tile) = nullptr;
  /// Called by a thread after its last tile; may be null.
  void (*end)() = nullptr;
  /// Cache lines that a tile prefetches for every s8_depth_step of depth.
  int prefetch_lines = 0;
};

/// Tiles of int8 convolutions that read pixels in place.
struct S8Windows {
  /// Null: there are none.
  void (*tile)(const S8WindowTile& tile) = nullptr;
  /// The codes of a group.
  int group = 0;
  /// The most rows: of more than half the columns of a panel, and of fewer.
  int rows = 0;
  int narrow_rows = 0;
  /// Added to every code of x, as in S8Tiles.
  int offset = 0;
};

/// The largest tiles of any code path: the drivers' buffers for partial panels have these sizes.
inline constexpr int kMaxF32Rows = 16;
inline constexpr int kMaxF32Cols = 32;
inline constexpr int kMaxS8Rows = 32;
inline constexpr int kMaxS8Cols = 32;

/// The inner loops of one code path. The drivers in gemm_f32.cpp, gemm_f32_rows.cpp and gemm_s8.cpp
/// do the blocking.
struct KernelTable {
  Isa isa;

  /// Rows and columns of one tile of a float product.
  int f32_rows;
  int f32_cols;
  /// Floats per k in a packed tile of a transposed operand: f32_rows or more.
  int f32_packed_rows;
  /// Computes to[r, j] = the chain over k of acc = fma(a[r * a_row + k * a_step],
  /// panel[k * f32_cols + j], acc), which starts at from[r, j], for r < rows <= f32_rows and all
  /// f32_cols columns. A path may ignore `prefetch`.
  void (*f32_tile)(int rows, Index k, const float* a, Index a_row, Index a_step, const float* panel,
                   const TileSums& sums, const TilePrefetch& prefetch);

  /// Computes the same chain over all pieces of a tile, for its columns.
  void (*f32_pieces)(const PieceTile& tile);

  /// Rows of one tile of an int8 product.
  int s8_rows;
  /// Columns of a packed int8 panel, and how many consecutive codes of k of one column it stores
  /// side by side (0: all of them).
  int s8_cols;
  int s8_group;
  /// Panels and prepared rows are padded to a multiple of this many codes of k.
  int s8_depth_step;
  /// Bytes of one prepared code of x and of one packed weight: 1, or 2 where they are widened.
  int s8_x_bytes;
  int s8_w_bytes;
  S8Tiles s8;
  /// Tiles of int8 convolutions, and those of convolutions for which groups of the first ones are
  /// too long. Without either, convolutions gather patches.
  S8Windows s8_windows = {};
  S8Windows s8_small_windows = {};

  /// Elementwise and packing loops.
  Passes passes;

  /// Products of at most s8_few_rows rows use the tiles s8_few instead of s8.
  int s8_few_rows = 0;
  S8Tiles s8_few = {};
};

/// Whether the tiles of a code path fit the drivers' buffers; each path asserts it of its table.
consteval bool fits_tile_buffers(const KernelTable& table) {
  return table.f32_rows <= kMaxF32Rows && table.f32_cols <= kMaxF32Cols &&
         table.f32_packed_rows >= table.f32_rows && table.s8_rows <= kMaxS8Rows &&
         table.s8_cols <= kMaxS8Cols && table.s8_few_rows <= table.s8_rows &&
         (table.s8_w_bytes == 1 || table.s8_w_bytes == 2);
}

/// The kernels in use: the best that the processor has, or what the environment variable OCTET_ISA
/// names (portable, avx2, avx_vnni, ...; see to_string). Throws InvalidArgument at first use if
/// that name is unknown or the processor does not support the path.
const KernelTable& kernels();

/// Lists every code path that this processor can run, for tests that compare them.
std::vector<const KernelTable*> available_kernels();

/// Makes kernels() return `table` from now on, for tests; nullptr restores the default choice.
void force_kernels(const KernelTable* table);

namespace detail {
extern const KernelTable kPortableKernels;
extern const KernelTable kAvx2Kernels;
extern const KernelTable kAvxVnniKernels;
extern const KernelTable kAvx512Kernels;
extern const KernelTable kAvx512VnniKernels;
extern const KernelTable kAmxKernels;
extern const KernelTable kNeonKernels;
extern const KernelTable kNeonDotprodKernels;
}  // namespace detail

}  // namespace octet
