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
    data_ = std::as_const(x_).data();
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

Tensor lazy_inside_window(const Tensor& x, const Tensor& g, const GradientWindow& window) {
  const auto row = static_cast<std::size_t>(x.dim(-1));
  const TensorRows values(x, x.dim(-1));
  constexpr std::size_t kLeastGrain = 4096;
  const std::size_t grain = divided_up(kLeastGrain, row) * row;
  const auto compute = [values, g = g.detach(), row, grain, window](
                           std::size_t begin, std::size_t end, float* out, MemoryParts) {
    const auto most = static_cast<Index>(grain / row);
    const auto last = static_cast<Index>(end / row);
    const float* from = g.data() + begin;
    const ScratchBuffer<float, GradientWindow> memory(values.scratch(most));
    // What x is computed to stays in the first-level cache.
    for (auto i = static_cast<Index>(begin / row); i < last; i += most) {
      const Index next = std::min(last, i + most);
      const std::size_t size = static_cast<std::size_t>(next - i) * row;
      kernels().passes.window_gradient(values.read(i, next, memory.data()), from, size, window,
                                       out);
      from += size;
      out += size;
    }
  };
  return detail::TensorAccess::lazy(x.shape(), {grain, compute, row}, g);
}

}  // namespace octet
