#pragma once

#include <octet/core/kernels/passes.h>
#include <octet/core/shape.h>

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

/// The inner loops of one code path. The drivers in gemm_f32.cpp and gemm_s8.cpp do the blocking.
struct KernelTable {
  Isa isa;

  /// Rows and columns of one tile of a float product.
  int f32_rows;
  int f32_cols;
  /// Floats that one k of a packed tile of a transposed operand takes, f32_rows or more.
  int f32_packed_rows;
  /// to[r, j] = chain over k of fma(a[r * a_row + k * a_step], panel[k * f32_cols + j], acc) for
  /// r < rows <= f32_rows and all f32_cols columns.
  void (*f32_tile)(int rows, Index k, const float* a, Index a_row, Index a_step, const float* panel,
                   const TileSums& sums);

  /// Rows of one tile of an int8 product.
  int s8_rows;
  /// Columns of a packed int8 panel, and how many codes of k lie side by side in it (0: all).
  int s8_cols;
  int s8_group;
  /// Panels and prepared rows are filled up to a multiple of this many codes of k.
  int s8_depth_step;
  /// What is added to a code of x to fit the instruction's operand (128 where it is unsigned);
  /// the driver takes 128 times the sum of the weights off again.
  int s8_offset;
  /// Bytes of one prepared code of x, and of one packed weight: 1, or 2 where they are widened.
  int s8_x_bytes;
  int s8_w_bytes;
  /// acc[r, j] = start[j] + sum over k of x[r, k] * panel[k, j] for r < rows <= s8_rows prepared
  /// rows of x `x_stride` bytes apart, s8_cols columns, k < depth (a multiple of s8_depth_step).
  /// Modulo 2^32.
  void (*s8_tile)(int rows, Index depth, const std::uint8_t* x, Index x_stride,
                  const std::int8_t* panel, const std::int32_t* start, std::int32_t* acc,
                  Index acc_stride);

  /// The loops that are no products.
  Passes passes;
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
