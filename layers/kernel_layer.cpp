#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/kernel_layer.h>

namespace octet {

LayerTensors KernelLayer::tensors() const {
  LayerTensors all{.parameters = {{"kernel", kernel_}}};
  if (bias_.defined()) all.parameters.push_back({"bias", bias_});
  return all;
}

std::unique_ptr<Layer> KernelLayer::clone() const {
  std::unique_ptr<KernelLayer> cloned = copy();
  cloned->kernel_ = clone_leaf(kernel_);
  cloned->bias_ = clone_leaf(bias_);
  return cloned;
}

Shape KernelLayer::checked_kernel_shape(const Shape& input_shape) const {
  Shape shape = kernel_shape(input_shape).value();
  try {
    static_cast<void>(shape.size());
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(fmt::format("{} \"{}\": kernel: {}", type(), name(), error.what()));
  }
  return shape;
}

void KernelLayer::make_kernel(Initializer initializer, const Shape& kernel, Index fan_in,
                              Index fan_out, Index bias, const Random& random) {
  kernel_ = initialize(initializer, kernel, fan_in, fan_out, random);
  kernel_.set_requires_grad(true);
  bias_ = bias == 0 ? Tensor() : Tensor::zeros({bias}).set_requires_grad(true);
}

}  // namespace octet
