#pragma once

#include <octet/layers/kernel_layer.h>

namespace octet {

struct DenseOptions {
  bool use_bias = true;
  Initializer kernel_initializer = Initializer::glorot_uniform;
  std::string name{};
};

/// y = f(x W + b), a contraction over the last axis: x [batch, .., inputs], y [batch, .., units],
/// W "kernel" [inputs, units], b "bias" [units], f the activation. The bias starts at zero.
class Dense : public KernelLayer {
 public:
  static constexpr std::string_view kType = "Dense";
  static std::unique_ptr<Layer> make(const Description& description);

  /// Throws InvalidArgument unless units > 0.
  explicit Dense(Index units, Activation activation = Activation::none, DenseOptions options = {});
  Dense(Index units, Activation activation, std::string name)
      : Dense(units, activation, DenseOptions{.name = std::move(name)}) {}

  std::string_view type() const override { return kType; }
  Index units() const { return units_; }
  bool use_bias() const { return options_.use_bias; }

  std::optional<LayerWeights> weights() const override;
  void describe(Description& description) const override;
  /// [inputs, units].
  std::optional<Shape> kernel_shape(const Shape& input_shape) const override;

 protected:
  std::unique_ptr<KernelLayer> copy() const override { return std::make_unique<Dense>(*this); }
  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override;

 private:
  Index units_;
  DenseOptions options_;
};

}  // namespace octet
