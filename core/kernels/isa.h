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

/// Where the chains of a float tile start from (null: from 0) and where they go to.
struct TileSums {
  const float* from;
  Index from_stride;
  float* to;
  Index to_stride;
};

/// Memory that will be read next, to be fetched into the second-level cache while a tile is made:
/// at every k the line at `at` and the one `apart` bytes on, and `at` moves on by `step` bytes.
struct SoonLines {
  const std::byte* at = nullptr;
  Index step = 0;
  Index apart = 0;
};

/// One tile of an int8 product: sums[r, j] = start[j] + sum over k of x[r, k] * panel[k, j], modulo
/// 2^32, for r < rows <= s8_rows and the columns of a panel.
struct S8Tile {
  int rows = 0;
  int cols = 0;
  /// A multiple of s8_depth_step.
  Index depth = 0;
  /// Prepared rows, bytes apart.
  const std::uint8_t* x = nullptr;
  Index x_stride = 0;
  const std::int8_t* panel = nullptr;
  const std::int32_t* start = nullptr;
  std::int32_t* sums = nullptr;
  Index sums_stride = 0;
  /// Memory to be fetched meanwhile, as far as there is time: at every s8_depth_step of depth the
  /// next `soon_step` bytes.
  const std::byte* soon = nullptr;
  Index soon_step = 0;
};

/// How the tiles of an int8 product are made.
struct S8Tiles {
  /// What is added to a code of x to fit the instruction's operand (128 where it is unsigned);
  /// the driver takes 128 times the sum of the weights off again.
  int offset = 0;
  /// All s8_cols columns.
  void (*whole)(const S8Tile& tile) = nullptr;
  /// The first `cols` alone; or null, and the driver copies them.
  void (*part)(const S8Tile& tile) = nullptr;
  /// Called by the thread that is about to make tiles, and when it has made them; or null.
  void (*begin)() = nullptr;
  void (*end)() = nullptr;
  /// Lines of `soon` that are fetched at every step.
  int soon_lines = 0;
};

/// The inner loops of one code path. The drivers in gemm_f32.cpp and gemm_s8.cpp do the blocking.
struct KernelTable {
  Isa isa;

  /// Rows and columns of one tile of a float product.
  int f32_rows;
  int f32_cols;
  /// Floats that one k of a packed tile of a transposed operand takes, f32_rows or more.
  int f32_packed_rows;
  /// to[r, j] = chain over k of fma(a[r * a_row + k * a_step], panel[k * f32_cols + j], acc) for
  /// r < rows <= f32_rows and all f32_cols columns. A path may leave `soon` alone.
  void (*f32_tile)(int rows, Index k, const float* a, Index a_row, Index a_step, const float* panel,
                   const TileSums& sums, const SoonLines& soon);

  /// Rows of one tile of an int8 product.
  int s8_rows;
  /// Columns of a packed int8 panel, and how many codes of k lie side by side in it (0: all).
  int s8_cols;
  int s8_group;
  /// Panels and prepared rows are filled up to a multiple of this many codes of k.
  int s8_depth_step;
  /// Bytes of one prepared code of x, and of one packed weight: 1, or 2 where they are widened.
  int s8_x_bytes;
  int s8_w_bytes;
  S8Tiles s8;

  /// The loops that are no products.
  Passes passes;

  /// Products of at most so many rows are made by tiles of their own.
  int s8_few_rows = 0;
  S8Tiles s8_few = {};
};

/// The kernels in use: the best that the processor has, or what the environment variable OCTET_ISA
/// names (portable, avx2, avx_vnni, ...; see to_string). Throws InvalidArgument at first use where
/// it names something unknown or something that this processor has not.
const KernelTable& kernels();

/// Every code path that this processor can run, for tests that compare them.
std::vector<const KernelTable*> available_kernels();

/// Makes kernels() return `table` from now on, for tests; nullptr goes back to the choice above.
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
