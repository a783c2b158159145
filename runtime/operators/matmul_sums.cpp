#include <octet/core/buffer.h>
#include <octet/core/kernels/gemm.h>
#include <octet/core/kernels/gemm_s16.h>
#include <octet/runtime/operators/matmul_terms.h>

#include <algorithm>
#include <utility>

namespace octet::detail {
namespace {

/// Floats hold sums of so many products of int8 less a zero point exactly.
constexpr Index kMostInFloats = (Index{1} << 24) / (255 * 255);

/// The axes in front of the matrices.
Shape in_front(const std::vector<std::int32_t>& shape) {
  return Shape(std::vector<Index>(shape.begin(), shape.end() - 2));
}

}  // namespace

std::array<std::int32_t, 2> matmul_extents(const std::vector<std::int32_t>& shape, bool adjoint) {
  std::array matrix = {shape[shape.size() - 2], shape.back()};
  if (adjoint) std::swap(matrix[0], matrix[1]);
  return matrix;
}

MatmulGeometry matmul_geometry(const Operands& operands) {
  return matmul_geometry(operands.input(0).shape, operands.input(1).shape, operands.output().shape,
                         operands.op.as<BatchMatmulAttributes>());
}

MatmulGeometry matmul_geometry(const std::vector<std::int32_t>& a,
                               const std::vector<std::int32_t>& b,
                               const std::vector<std::int32_t>& result,
                               const BatchMatmulAttributes& attributes) {
  const auto [rows, depth] = matmul_extents(a, attributes.adj_x);
  const Index columns = matmul_extents(b, attributes.adj_y)[1];
  MatmulGeometry g{.rows = rows,
                   .depth = depth,
                   .columns = columns,
                   .matrices = {},
                   .row_stride = attributes.adj_x ? 1 : depth,
                   .row_step = attributes.adj_x ? rows : 1,
                   .column_stride = attributes.adj_y ? depth : 1,
                   .column_step = attributes.adj_y ? 1 : columns};
  const Shape front = in_front(result);
  const auto first = broadcast_strides(in_front(a), front);
  const auto second = broadcast_strides(in_front(b), front);
  for (Index i = 0; i < front.rank(); ++i) {
    const auto axis = static_cast<std::size_t>(i);
    g.matrices.push_back(
        {front[i], {first[axis] * g.rows * g.depth, second[axis] * g.depth * g.columns}});
  }
  g.matrices = merge_axes(g.matrices);
  return g;
}

std::array<Index, 2> matrices_at(const MatmulGeometry& g, Index number) {
  std::array<Index, 2> offsets{};
  for (auto axis = g.matrices.rbegin(); axis != g.matrices.rend(); ++axis) {
    for (std::size_t i = 0; i < 2; ++i) offsets[i] += number % axis->extent * axis->strides[i];
    number /= axis->extent;
  }
  return offsets;
}

Index product_count(const MatmulGeometry& g) { return count_of<2>(g.matrices); }

Int8MatmulSums::Int8MatmulSums(MatmulGeometry geometry, std::array<std::int32_t, 2> zero_points)
    : g_(std::move(geometry)),
      zero_points_(zero_points),
      start_(fits_floats() ? 0 : static_cast<std::size_t>(g_.columns)) {}

bool Int8MatmulSums::fits_floats() const { return g_.depth <= kMostInFloats; }

std::size_t Int8MatmulSums::thread_bytes() const {
  if (!fits_floats()) {
    return terms_of(g_, 1) * sizeof(std::int16_t) + size() * sizeof(std::int64_t);
  }
  return (terms_of(g_, 1) + size()) * sizeof(float) +
         gemm_f32_thread_bytes(g_.rows, g_.columns, g_.depth);
}

void Int8MatmulSums::write(const std::int8_t* left, const std::int8_t* right,
                           std::int32_t* to) const {
  if (fits_floats()) {  // The product of floats is the quicker one.
    const ScratchBuffer<float, Int8MatmulSums> memory(terms_of(g_, 1) + size());
    const auto [rows, columns] = gathered(g_, zero_points_, left, right, memory.data());
    float* const product = memory.data() + terms_of(g_, 1);
    gemm_f32(g_.rows, g_.columns, g_.depth, {rows, g_.depth}, {columns, g_.depth, Transpose::yes},
             product, g_.columns);
    for (std::size_t i = 0; i < size(); ++i) to[i] = static_cast<std::int32_t>(product[i]);
    return;
  }
  const ScratchBuffer<std::int16_t, Int8MatmulSums> terms(terms_of(g_, 1));
  const ScratchBuffer<std::int64_t, Int8MatmulSums> sums(size());
  const auto [rows, columns] = gathered(g_, zero_points_, left, right, terms.data());
  gemm_s16(g_.rows, g_.columns, g_.depth, rows, columns, start_.data(), sums.data());
  std::copy_n(sums.data(), size(), to);
}

}  // namespace octet::detail
