#include <octet/core/buffer.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/core/shape.h>
#include <octet/core/tensor_internal.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace octet {
bool computes_rows(const Tensor& x, Index row) {
  const detail::LazyData* lazy = detail::TensorAccess::pending(x);
  return lazy != nullptr && lazy->unit > 0 && static_cast<std::size_t>(row) % lazy->unit == 0;
}

TensorRows::TensorRows(const Tensor& x, Index row) : x_(x.detach()), row_(row) {
  if (computes_rows(x, row)) {
    lazy_ = *detail::TensorAccess::pending(x);
  } else {
    data_ = x_.data();
  }
}

std::size_t TensorRows::scratch(Index rows) const {
  return !lazy_ ? 0 : static_cast<std::size_t>(rows * row_);
}

const float* TensorRows::read(Index begin, Index end, float* memory) const {
  if (!lazy_) return data_ + begin * row_;
  lazy_->compute(static_cast<std::size_t>(begin * row_), static_cast<std::size_t>(end * row_),
                 memory, {});
  return memory;
}

void add_columns(const float* x, Index rows, std::span<double> totals) {
  kernels().passes.add_to_totals(x, static_cast<Index>(totals.size()),
                                 static_cast<std::size_t>(rows), totals.size(), totals.data());
}

namespace {

/// Elements that are worked on at once stay in the first-level cache.
constexpr Index kBlock = 4096;

}  // namespace

Tensor lazy_masked(const Mask& inside, const Tensor& g) {
  const Index row = g.dim(-1);
  const auto grain = static_cast<std::size_t>(divided_up(kBlock, row) * row);
  const auto compute = [inside, g = g.detach()](std::size_t begin, std::size_t end, float* out,
                                                MemoryParts) {
    kernels().passes.masked_gradient(inside.get() + begin, g.data() + begin, end - begin, out);
  };
  return detail::TensorAccess::lazy(g.shape(), {grain, compute, static_cast<std::size_t>(row)}, g);
}

}  // namespace octet
