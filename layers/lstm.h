#pragma once

#include <octet/layers/recurrent.h>

namespace octet {

using LSTMOptions = RecurrentOptions;

/// Long short-term memory over sequences [steps, features], as in Keras (Hochreiter and
/// Schmidhuber, 1997; Gers et al., 2000). Behind step t, with the states h = 0 and c = 0 in front
/// of the first:
///
///   i = sigmoid(x_t Wi + bi + h Ui)             f = sigmoid(x_t Wf + bf + h Uf)
///   g = tanh(x_t Wc + bc + h Uc)                o = sigmoid(x_t Wo + bo + h Uo)
///   c' = f c + i g                              h' = o tanh(c')
///
/// Parameters, first states, h and c, and quantization: see Recurrent; the gates are in the order
/// i, f, c, o, and the bias of f starts at 1 (Jozefowicz et al., 2015). step_model() makes the
/// model that goes through a sequence step by step. Files hold the operators of these formulas,
/// which every runtime has, not the fused UNIDIRECTIONAL_SEQUENCE_LSTM.
class LSTM : public Recurrent {
 public:
  static constexpr std::string_view kType = "LSTM";
  static std::unique_ptr<Layer> make(const Description& d) { return make_recurrent<LSTM>(d); }

  /// Throws InvalidArgument for less than 1 unit, or more than tensors hold.
  explicit LSTM(Index units, LSTMOptions options = {});

  std::string_view type() const override { return kType; }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<LSTM>(*this); }

 protected:
  std::vector<GraphValue> step(Graph& graph, std::span<const GraphValue> x,
                               std::span<const GraphValue> states) const override;
};

/// The cell state c behind the last step, [units], of the LSTM whose result it reads: computed by
/// the LSTM, no operator of its own. step_model() and import_onnx() add it. build() throws
/// InvalidArgument where the result of another layer is read.
class CellState : public Layer {
 public:
  static constexpr std::string_view kType = "CellState";
  static std::unique_ptr<Layer> make(const Description& /*d*/) {
    return std::make_unique<CellState>();
  }

  explicit CellState(std::string name = "") : Layer(std::move(name)) {}

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<CellState>(*this); }

 protected:
  Shape result_shape(std::span<const Shape> input_shapes) const override;
};

}  // namespace octet
