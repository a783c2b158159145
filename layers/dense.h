#pragma once

#include <octet/layers/activation.h>
#include <octet/layers/initializer.h>
#include <octet/layers/layer.h>

namespace octet {

struct DenseOptions {
  bool use_bias = true;
  Initializer kernel_initializer = Initializer::glorot_uniform;
  std::string name{};
};

/// y = f(x W + b): x [batch, inputs], W "kernel" [inputs, units], b "bias" [units], f the
/// activation. The bias starts at zero.
class Dense : public Layer {
 public:
  static constexpr std::string_view kType = "Dense";
  static std::unique_ptr<Layer> make(const Description& description);

  /// Throws InvalidArgument unless units > 0.
  explicit Dense(Index units, Activation activation = Activation::none, DenseOptions options = {});
  Dense(Index units, Activation activation, std::string name)
      : Dense(units, activation, DenseOptions{.name = std::move(name)}) {}

  std::string_view type() const override { return kType; }
  Index units() const { return units_; }
  Activation activation() const override { return activation_; }
  bool use_bias() const { return options_.use_bias; }
  const Tensor& kernel() const { return kernel_; }
  /// Undefined without bias.
  const Tensor& bias() const { return bias_; }

  Tensor forward(const Tensor& x, const ForwardContext& context) override;
  std::vector<NamedTensor> parameters() const override;
  std::optional<LayerWeights> weights() const override;
  /// x W' + b' with another kernel W' and bias b', without the activation.
  Tensor linear(const Tensor& x, const Tensor& kernel, const Tensor& bias) const override;
  std::unique_ptr<Layer> with_activation(Activation activation) const override;
  ResultGrid result_grid(Rounding /*rounding*/) const override { return ResultGrid::measured; }
  std::int32_t lower(Lowering& lowering, std::span<const std::int32_t> inputs) const override;
  void describe(Description& description) const override;
  /// [inputs, units].
  std::optional<Shape> kernel_shape(const Shape& input_shape) const override;
  std::unique_ptr<Layer> clone() const override;

 protected:
  Shape do_build(const Shape& input_shape, const Random& random) override;

 private:
  Index units_;
  Activation activation_;
  DenseOptions options_;
  Tensor kernel_;
  Tensor bias_;
};

}  // namespace octet
