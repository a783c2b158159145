#pragma once

#include <octet/layers/activation.h>

namespace octet {

/// y = f(a + b) for two inputs of one shape, f the identity, relu or relu6. build() throws
/// InvalidArgument for another number of inputs and for shapes that differ.
class Add : public Layer {
 public:
  static constexpr std::string_view kType = "Add";
  static std::unique_ptr<Layer> make(const Description& description);

  /// Throws InvalidArgument for another activation.
  explicit Add(Activation activation = Activation::none, std::string name = "");

  std::string_view type() const override { return kType; }
  Activation activation() const override { return activation_; }
  Tensor forward_all(std::span<const Tensor> inputs, const ForwardContext& context) override;
  std::unique_ptr<Layer> with_activation(Activation activation) const override;
  ResultGrid result_grid(Rounding /*rounding*/) const override { return ResultGrid::measured; }
  std::int32_t lower(Lowering& lowering, std::span<const std::int32_t> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override;

 protected:
  Shape do_build_all(std::span<const Shape> input_shapes, const Random& random) override;

 private:
  Activation activation_;
};

}  // namespace octet
