#pragma once

#include <octet/layers/activation.h>
#include <octet/layers/initializer.h>
#include <octet/layers/layer.h>

namespace octet {

/// What layers with a kernel have in common: y = f(linear(x, W, b)), W the parameter "kernel", b
/// "bias" with one value per unit, f the activation. A layer of your own may derive from it; it
/// then overrides weights() and copy(), and makes its tensors by make_kernel().
class KernelLayer : public Layer {
 public:
  const Tensor& kernel() const { return kernel_; }
  /// Undefined without bias.
  const Tensor& bias() const { return bias_; }

  /// The shape of the kernel that build_all() makes for such an input; none where there is none.
  virtual std::optional<Shape> kernel_shape(const Shape& /*input_shape*/) const {
    return std::nullopt;
  }
  LayerTensors tensors() const override;
  std::unique_ptr<Layer> clone() const override;

 protected:
  KernelLayer(std::string name, Activation activation) : Layer(std::move(name)) {
    set_activation(activation, true);
  }

  /// A copy that shares its tensors with this layer.
  virtual std::unique_ptr<KernelLayer> copy() const = 0;

  /// Returns kernel_shape(). Throws InvalidArgument that names the layer where its size overflows.
  Shape checked_kernel_shape(const Shape& input_shape) const;
  /// The kernel, as `initializer` says, and a bias of as many zeros as there are units; none for 0.
  void make_kernel(Initializer initializer, const Shape& kernel, Index fan_in, Index fan_out,
                   Index bias, const Random& random);

 private:
  Tensor kernel_;
  Tensor bias_;
};

}  // namespace octet
