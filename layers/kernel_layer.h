#pragma once

#include <octet/layers/activation.h>
#include <octet/layers/initializer.h>
#include <octet/layers/layer.h>

namespace octet {

/// What layers with a kernel have in common: y = f(linear(x, W, b)), W the parameter "kernel", b
/// "bias" with one value per unit, f the activation. A layer of your own may derive from it; it
/// then overrides linear(), weights() and copy(), and makes its tensors by make_tensors().
class KernelLayer : public Layer {
 public:
  Activation activation() const override { return activation_; }
  const Tensor& kernel() const { return kernel_; }
  /// Undefined without bias.
  const Tensor& bias() const { return bias_; }

  Tensor forward(const Tensor& x, const ForwardContext& context) override;
  std::vector<NamedTensor> parameters() const override;
  std::unique_ptr<Layer> with_activation(Activation activation) const override;
  ResultGrid result_grid(Rounding /*rounding*/) const override { return ResultGrid::measured; }
  std::int32_t lower(Lowering& lowering, std::span<const std::int32_t> inputs) const override;
  std::unique_ptr<Layer> clone() const override;

 protected:
  KernelLayer(std::string name, Activation activation)
      : Layer(std::move(name)), activation_(activation) {
    static_cast<void>(to_string(activation));  // Throws where it has no name.
  }

  /// linear() with the layer's own kernel and bias; for a layer that shows its kernel otherwise
  /// than it keeps it.
  virtual Tensor own_linear(const Tensor& x) const { return linear(x, kernel_, bias_); }
  /// A copy that shares its tensors with this layer.
  virtual std::unique_ptr<KernelLayer> copy() const = 0;

  /// kernel_shape(). Throws InvalidArgument that names the layer where its size overflows, as do
  /// products of its extents then.
  Shape checked_kernel_shape(const Shape& input_shape) const;
  /// The kernel, as `initializer` says, and a bias of as many zeros as there are units; none for 0.
  void make_tensors(Initializer initializer, const Shape& kernel, Index fan_in, Index fan_out,
                    Index bias, const Random& random);
  /// y + bias, or y where there is none.
  static Tensor plus_bias(const Tensor& y, const Tensor& bias);

 private:
  Activation activation_;
  Tensor kernel_;
  Tensor bias_;
};

}  // namespace octet
