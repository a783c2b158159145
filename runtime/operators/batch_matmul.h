#pragma once

#include <octet/core/quant/requantize.h>
#include <octet/core/strides.h>
#include <octet/runtime/operators/definitions.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

// BATCH_MATMUL: the products a' b' of two activations' matrices [.., rows, depth] and
// [.., depth, columns], where ' exchanges the last two axes of an operand as adj_x and adj_y say;
// the axes in front are broadcast.

namespace octet::detail {

/// Runtimes sum int8 products in int32, which holds so many.
inline constexpr std::int64_t kMostMatmulDepth =
    std::numeric_limits<std::int32_t>::max() / (255 * 255);

/// The extents of the matrices of an operand of this shape, an adjoint one's exchanged.
std::array<std::int32_t, 2> matmul_extents(const std::vector<std::int32_t>& shape, bool adjoint);

struct MatmulGeometry {
  Index rows;
  Index depth;
  Index columns;
  /// The axes in front of the matrices, and by operand how many elements the next matrix lies
  /// ahead: 0 where it is used again.
  std::vector<Axis<2>> matrices;
  /// Elements from one row, or column of the second operand, to the next, and from one of their
  /// elements to the next.
  Index row_stride;
  Index row_step;
  Index column_stride;
  Index column_step;
};

MatmulGeometry matmul_geometry(const Operands& operands);
/// The geometry for operands and a result of these shapes.
MatmulGeometry matmul_geometry(const std::vector<std::int32_t>& a,
                               const std::vector<std::int32_t>& b,
                               const std::vector<std::int32_t>& result,
                               const BatchMatmulAttributes& attributes);

/// The number of products.
Index product_count(const MatmulGeometry& g);
/// Where the two matrices of product `number` begin, in elements.
std::array<Index, 2> matrices_at(const MatmulGeometry& g, Index number);

/// The sums that BATCH_MATMUL of int8 rescales: products of quantized values less their zero
/// points, exact.
class Int8MatmulSums {
 public:
  Int8MatmulSums(MatmulGeometry geometry, std::array<std::int32_t, 2> zero_points);

  const MatmulGeometry& geometry() const { return g_; }
  /// The sums of one product.
  std::size_t size() const { return static_cast<std::size_t>(g_.rows * g_.columns); }
  /// Writes the sums of one product, [rows, columns], whose matrices begin at `left` and `right`.
  void write(const std::int8_t* left, const std::int8_t* right, std::int32_t* to) const;

  /// Memory that is kept, and the most that write() takes on a thread.
  std::size_t bytes() const { return start_.size() * sizeof(std::int64_t); }
  std::size_t thread_bytes() const;

 private:
  bool fits_floats() const;

  MatmulGeometry g_;
  std::array<std::int32_t, 2> zero_points_;
  /// Zeros, which gemm_s16() starts with: there is no bias.
  std::vector<std::int64_t> start_;
};

/// How sums of products of quantized values are rescaled. In rounding mode fp32 XNNPACK takes a
/// second operand of zero point 0 alone; LiteRT's own kernel computes others as in mode
/// double.
Requantizer matmul_requantizer(const KernelSource& source);
Requantizer matmul_requantizer(float first_scale, const QuantParams& second, float output_scale,
                               Rounding rounding);

}  // namespace octet::detail
