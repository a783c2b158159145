#include <octet/core/autograd.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/tensor_internal.h>
#include <octet/train/sample_weights.h>

#include <cassert>
#include <vector>

namespace octet::detail {
namespace {

Tensor weighed(const Tensor& x, const Tensor& column) {
  return record(
      "with_row_weights", x.detach(), {x},
      [column](const Tensor& g) { return std::vector<Tensor>{g * column}; },
      BackwardReads::nothing);
}

}  // namespace

Tensor with_row_weights(const Tensor& output, std::span<const float> weights) {
  assert(output.rank() > 0 && output.dim(0) == static_cast<Index>(weights.size()));
  std::vector<Index> extents(static_cast<std::size_t>(output.rank()), 1);
  extents[0] = output.dim(0);
  const Tensor column = Tensor::from(Shape(extents), {weights.begin(), weights.end()});
  Tensor result = weighed(output, column);
  const Tensor& logits = TensorAccess::logits(output);
  if (logits.defined()) TensorAccess::set_logits(result, weighed(logits, column));
  return result;
}

}  // namespace octet::detail
