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

/// One row-major operand of a product: its first element, and how far apart its rows lie.
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
/// zero_point), the real that dequantize gives.
struct CodeOperand {
  const std::int8_t* data;
  Index stride;
  float scale;
  std::int32_t zero_point;
};

/// c = a' b', or c += a' b' with `accumulate`; a' is [m, k], b' is [k, n], c is [m, n] row-major
/// with rows `c_stride` apart; ' transposes where the operand says so.
///
/// Every element is one chain over k in ascending order, acc = fma(a, b, acc) from 0, then added
/// to c where accumulating. The bits therefore depend on nothing else: not on the vector width,
/// the tiling or the number of threads.
///
/// `block_done`, where given, is called for blocks of c that are complete, each element once, by
/// the thread that made them and has them in its caches. Rows of a' that lie a multiple of 4 KiB
/// apart may be copied.
void gemm_f32(Index m, Index n, Index k, const GemmOperand& a, const GemmOperand& b, float* c,
              Index c_stride, bool accumulate = false,
              FunctionRef<void(const GemmBlock& block)> block_done = {});

/// c = a' w for the reals of int8 codes w [w.rows(), w.depth()], each float(code) times the scale
/// of its row (`scales` holds one for all rows or one each): the bits of gemm_f32 of those reals,
/// of which no copy is made.
void gemm_f32(Index m, const GemmOperand& a, const PackedS8& w, std::span<const float> scales,
              float* c, Index c_stride);

/// The second operand b' [k, n] of products, packed once for many blocks of rows.
class PackedF32 {
 public:
  PackedF32(const GemmOperand& b, Index k, Index n);

  /// c = a' b' for a' of m rows: the bits of gemm_f32. Runs on the calling thread; any number of
  /// threads may multiply at once. `soon` may be fetched into the second-level cache meanwhile.
  void multiply_rows(Index m, const GemmOperand& a, float* c, Index c_stride,
                     MemoryParts soon = {}) const;
  /// The same for a' given as codes: a quarter of the memory is read.
  void multiply_rows(Index m, const CodeOperand& a, float* c, Index c_stride,
                     MemoryParts soon = {}) const;

 private:
  const KernelTable* kernels_;
  Index k_;
  Index n_;
  Index padded_n_;
  std::shared_ptr<const float[]> data_;

  /// All blocks of k, over the rows of a' that tiles_of(k0, depth) gives, in tiles of `height`.
  template <class TilesOf>
  void multiply_tiles(Index m, Index height, TilesOf&& tiles_of, float* c, Index c_stride,
                      MemoryParts soon_parts) const;
  /// Where the panel of rows [k0, k0 + depth) and columns from j0 on lies.
  Index place(Index k0, Index depth, Index j0) const;
};

}  // namespace octet
