#pragma once

#include <octet/core/buffer.h>
#include <octet/core/function_ref.h>
#include <octet/core/shape.h>
#include <octet/core/transpose.h>

#include <cstdint>
#include <memory>
#include <span>

namespace octet {

struct KernelTable;
class PackedS8;

/// One row-major operand of a product: its first element and its row stride in elements.
struct GemmOperand {
  const float* data;
  Index stride;
  Transpose transpose = Transpose::no;
};

/// Rows [i0, i1) and columns [j0, j1) of a product.
struct GemmBlock {
  Index i0, i1, j0, j1;
};

/// A transposed operand given as codes: element (i, k) is scale * (data[k * stride + i] -
/// zero_point), the real value that dequantize gives.
struct CodeOperand {
  const std::int8_t* data;
  Index stride;
  float scale;
  std::int32_t zero_point;
};

/// Computes c = a' b', or c += a' b' with `accumulate`; a' is [m, k], b' is [k, n], c is [m, n]
/// row-major with row stride `c_stride`; ' transposes where the operand says so.
///
/// Every element is one chain over k in ascending order, acc = fma(a, b, acc), starting at 0 or,
/// when accumulating, at c. The bits therefore depend on nothing else: not on the vector width, the
/// tiling or the number of threads.
///
/// Calls `block_done`, if given, for each completed block of c, on the thread that computed it and
/// has it in its caches; every element is in one block. Copies a' if its row stride is close to a
/// multiple of 4 KiB (see docs/performance.md, "Float products: blocks").
void gemm_f32(Index m, Index n, Index k, const GemmOperand& a, const GemmOperand& b, float* c,
              Index c_stride, bool accumulate = false,
              FunctionRef<void(const GemmBlock& block)> block_done = {});

/// The largest number of bytes of scratch memory that a thread keeps after gemm_f32() of this size.
std::size_t gemm_f32_thread_bytes(Index m, Index n, Index k);

/// Computes c = a' w for the real values of int8 codes w [w.rows(), w.depth()], each float(code)
/// times the scale of its row (`scales` holds one for all rows or one per row): the bits of
/// gemm_f32 on those values, without a copy of them in memory.
void gemm_f32(Index m, const GemmOperand& a, const PackedS8& w, std::span<const float> scales,
              float* c, Index c_stride);

/// The second operand b' [k, n] of products, packed once for many blocks of rows.
class PackedF32 {
 public:
  PackedF32(const GemmOperand& b, Index k, Index n);

  /// Computes c = a' b' for a' of m rows: the bits of gemm_f32. Runs on the calling thread; any
  /// number of threads may call it at once. May prefetch `prefetch` into the second-level cache.
  void multiply_rows(Index m, const GemmOperand& a, float* c, Index c_stride,
                     MemoryParts prefetch = {}) const;
  /// Computes c = a' b' for a' given as quantized values, which reads a quarter of the memory: the
  /// bits of gemm_f32 for their real values. Any number of threads may call it at once.
  void multiply_rows(Index m, const CodeOperand& a, float* c, Index c_stride,
                     MemoryParts prefetch = {}) const;

 private:
  const KernelTable* kernels_;
  Index k_;
  Index n_;
  Index padded_n_;
  std::shared_ptr<const float[]> data_;

  /// Multiplies all blocks of k, in tiles of `height` rows; tiles_of(k0, depth) gives the rows of
  /// a' for one block.
  template <class TilesOf>
  void multiply_tiles(Index m, Index height, TilesOf&& tiles_of, float* c, Index c_stride,
                      MemoryParts prefetch) const;
  /// The offset of the panel of rows [k0, k0 + depth) and columns from j0 on.
  Index panel_offset(Index k0, Index depth, Index j0) const;
};

}  // namespace octet
