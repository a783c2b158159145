#pragma once

#include <octet/layers/recurrent.h>

namespace octet {

using LSTMOptions = RecurrentOptions;

/// The scale of the cell state of a fused LSTM: int16 then ends at 16, far beyond where tanh does.
inline constexpr float kLstmCellScale = 1.0F / 2048;

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
/// which every runtime has, unless LSTMOptions::fused asks for UNIDIRECTIONAL_SEQUENCE_LSTM.
///
/// `fused`: quantized under rounding mode double or q15 the layer is that operator, as TFLite Micro
/// computes it: one scale for each kernel of a gate, gates in units of 2^-12, a cell state of int16
/// in units of 2^-11, which saturates at 16, and h with the scale of the result. In float and under
/// other modes, whose runtimes compute it otherwise, and where the layer goes backwards, it is made
/// of single operators. The exporter to ONNX refuses it, C source of q15 as well. A .tflite file
/// keeps both states in variable tensors, which TFLite Micro carries on from call to call, as a
/// step_model() needs; reset them in front of each whole sequence.
class LSTM : public Recurrent {
 public:
  static constexpr std::string_view kType = "LSTM";
  /// The key of a description of a fused layer whose first states are those that it gave, as in the
  /// model that step_model() makes; with others it is made of single operators.
  static constexpr std::string_view kCarriesStates = "carries_states";
  static std::unique_ptr<Layer> make(const Description& description);

  /// Throws InvalidArgument for less than 1 unit, or more than tensors hold, and for a fused layer
  /// that is masked, drops parts of its state, truncates gradients or goes backwards.
  explicit LSTM(Index units, LSTMOptions options = {});

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<LSTM>(*this); }

 protected:
  std::vector<GraphValue> step(Graph& graph, std::span<const GraphValue> x,
                               std::span<const GraphValue> states) const override;

 private:
  bool carries_states_ = false;
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
