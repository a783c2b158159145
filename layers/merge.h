#pragma once

#include <octet/layers/activation.h>

namespace octet {

/// What layers of two inputs, element by element, share: y = f(a o b), f the identity, relu or
/// relu6. Inputs have one shape, or extents of 1 where the other's is repeated, as in numpy: [h, w,
/// c] and [1, 1, c] for one. build() throws InvalidArgument for another number of inputs and for
/// other shapes.
class Merge : public Layer {
 public:
  Activation activation() const override { return activation_; }
  std::unique_ptr<Layer> with_activation(Activation activation) const override;
  void describe(Description& description) const override;

 protected:
  /// Throws InvalidArgument, naming `type`, for another activation.
  Merge(std::string_view type, Activation activation, std::string name);

  /// The result of the operator, with the activation.
  GraphValue merged(Graph& graph, OpCode code, std::span<const GraphValue> inputs) const;

 private:
  Activation activation_;
};

/// The activation in a description of one.
Activation merge_activation(const Description& description);

}  // namespace octet
