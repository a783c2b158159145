#pragma once

#include <octet/layers/layer.h>

namespace octet {

/// The first layer of a model: says what shape an example has, and passes it on.
class InputLayer : public Layer {
 public:
  static constexpr std::string_view kType = "InputLayer";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit InputLayer(Shape example_shape, std::string name = "")
      : Layer(std::move(name)), example_shape_(std::move(example_shape)) {}

  std::string_view type() const override { return kType; }
  const Shape& example_shape() const { return example_shape_; }
  /// Throws InvalidArgument where x is not [batch, example_shape...].
  Tensor forward_all(std::span<const Tensor> inputs, const ForwardContext& context) override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override;

 protected:
  Shape result_shape(std::span<const Shape> input_shapes) const override;

 private:
  Shape example_shape_;
};

/// The layer as one; null where it brings no examples into a model.
const InputLayer* as_input(const Layer& layer);
inline bool is_input(const Layer& layer) { return as_input(layer) != nullptr; }

/// An input of `example_shape`, without the batch axis.
inline InputLayer Input(Shape example_shape, std::string name = "") {
  return InputLayer(std::move(example_shape), std::move(name));
}

}  // namespace octet
