#pragma once

#include <octet/layers/recurrent.h>

namespace octet {

using SimpleRNNOptions = RecurrentOptions;

/// A recurrent layer without gates over sequences [steps, features], as in Keras (Elman, 1990).
/// Behind step t, with the state h = 0 in front of the first: h' = tanh(x_t W + b + h U).
///
/// Parameters, first state and quantization: see Recurrent, with one gate, "h". step_model() makes
/// the model that goes through a sequence step by step.
class SimpleRNN : public Recurrent {
 public:
  static constexpr std::string_view kType = "SimpleRNN";
  static std::unique_ptr<Layer> make(const Description& d) { return make_recurrent<SimpleRNN>(d); }

  /// Throws InvalidArgument for less than 1 unit, or more than tensors hold.
  explicit SimpleRNN(Index units, SimpleRNNOptions options = {});

  std::string_view type() const override { return kType; }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<SimpleRNN>(*this); }

 protected:
  std::vector<GraphValue> step(Graph& graph, std::span<const GraphValue> x,
                               std::span<const GraphValue> states) const override;
};

}  // namespace octet
