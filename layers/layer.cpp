#include <octet/layers/layer.h>

namespace octet {

void Layer::build(const Shape& input_shape, const Random& random) {
  output_shape_ = do_build(input_shape, random);
  input_shape_ = input_shape;
  built_ = true;
}

Index count_elements(const std::vector<NamedTensor>& tensors) {
  Index total = 0;
  for (const NamedTensor& named : tensors) total += named.tensor.size();
  return total;
}

void append(std::vector<NamedTensor>& list, const std::vector<NamedTensor>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

Tensor clone_leaf(const Tensor& source) {
  if (!source.defined()) return {};
  Tensor copy = source.clone();
  copy.set_requires_grad(source.requires_grad());
  return copy;
}

}  // namespace octet
