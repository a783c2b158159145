#pragma once

#include <octet/layers/activation.h>
#include <octet/runtime/operator.h>

namespace octet {

/// What layers of two inputs, element by element, share: y = a o b. Inputs have one shape, or
/// extents of 1 where the other's is repeated, as in numpy: [h, w, c] and [1, 1, c] for one.
/// build() throws InvalidArgument for another number of inputs and for other shapes.
class Merge : public Layer {
 public:
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;

 protected:
  Merge(OpCode code, std::string name) : Layer(std::move(name)), code_(code) {}
  OpCode code() const { return code_; }
  /// Throws InvalidArgument for another number of inputs and for other shapes.
  void require_inputs_that_fit(const Graph& graph, std::span<const GraphValue> inputs) const;

 private:
  OpCode code_;
};

/// A Merge with an activation: y = f(a o b), f the identity, relu or relu6.
class ActivatedMerge : public Merge {
 public:
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;

 protected:
  /// Throws InvalidArgument, naming `type`, for another activation.
  ActivatedMerge(std::string_view type, OpCode code, Activation activation, std::string name);

  template <class L>
  static std::unique_ptr<Layer> make_merge(const Description& description) {
    return std::make_unique<L>(activation_in(description));
  }

 private:
  static Activation activation_in(const Description& description);
};

}  // namespace octet
