#pragma once

#include <octet/layers/graph.h>
#include <octet/layers/layer.h>

namespace octet {

struct RecurrentOptions {
  /// Whether the result holds the state behind every step, [steps, units], or behind the last.
  bool return_sequences = false;
  /// Whether the second input is a mask of the steps, [steps] or [steps, 1]: 1 where a step counts,
  /// 0 where it only fills a sequence up to the length of others, which leaves the states as they
  /// are. Values at such steps have to be finite, too: a state h keeps h + 0 (h' - h).
  bool masked = false;
  /// While training, the share of the features of what the layer reads that are set to 0, and that
  /// of the state that the gates read, the same ones at all steps of a sequence (variational
  /// dropout: Gal and Ghahramani, 2016).
  float dropout = 0.0F;
  float recurrent_dropout = 0.0F;
  /// Gradients do not go back beyond parts of so many steps, which the states do (truncated
  /// backpropagation through time); 0: they go through all.
  Index truncation = 0;
  /// GRU alone: whether r multiplies h Un + cn, or h in front of that product; see GRU.
  bool reset_after = true;
  /// Whether the layer goes through sequences from their last step to the first, as PyTorch and
  /// ONNX do with direction reverse: the result of a step stays at its place, where Keras would
  /// give all steps in the order in which they were computed.
  bool go_backwards = false;
  /// LSTM alone: whether the quantized layer is one operator where the rounding mode has it; see
  /// LSTM.
  bool fused = false;
  std::string name{};
};

/// What GRU, LSTM and SimpleRNN have in common: they go through sequences [steps, features] and
/// carry a state of `units` values from step to step. Behind step t each gate g reads x_t Wg + bg
/// and h Ug, h the state in front of the step, at first 0.
///
/// Parameters: "kernel" [features, gates * units], glorot_uniform, "recurrent_kernel" [units, gates
/// * units], orthogonal, and "bias" [gates * units] or, with a second bias for h Ug, [2, gates *
/// units], the gates side by side, as Keras has them. Quantized, a gate has a kernel of its own,
/// and a value has one scale at all steps. The first states are further inputs, each [units] or [1,
/// units], where the layer reads more than one, behind the mask if there is one: behind step t with
/// mask m, a state h that would become h' is h + m (h' - h).
class Recurrent : public Layer {
 public:
  /// How many states go from step to step; the first is the layer's result.
  std::size_t state_count() const { return cell_.states; }
  bool masked() const { return options_.masked; }
  bool goes_backwards() const { return options_.go_backwards; }
  /// Whether the layer, quantized, is a single operator; see LSTM.
  bool is_one_operator() const { return has_operator_ && !options_.go_backwards; }
  /// Makes the layer go through sequences in the other direction.
  void turn_around() { options_.go_backwards = !options_.go_backwards; }

  /// Returns the result, and beside it the states but the first behind the last step.
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void quantize_for(Rounding rounding) override;
  LayerTensors tensors() const override;
  void describe(Description& description) const override;

 protected:
  /// What a layer computes with.
  struct Cell {
    /// In the order of their columns in the kernels.
    std::vector<std::string_view> gates;
    std::size_t states = 1;
    /// Whether h Ug has a bias too: "bias" is [2, gates * units] then, with these in row 1.
    bool has_recurrent_bias = false;
    /// The gate whose bias starts at 1, not at 0.
    std::string_view starts_open{};
  };

  /// Throws InvalidArgument for less than 1 unit, or more than tensors hold, and for options that
  /// are out of range.
  Recurrent(std::string_view type, Index units, RecurrentOptions options, Cell cell);
  Recurrent(const Recurrent& other);

  /// The states behind a step, from x_t Wg + bg of each gate and the states in front of it.
  virtual std::vector<GraphValue> step(Graph& graph, std::span<const GraphValue> x,
                                       std::span<const GraphValue> states) const = 0;
  const RecurrentOptions& options() const { return options_; }
  /// The state h as gates read it: while training, parts of it are dropped.
  GraphValue read_state(Graph& graph, GraphValue h) const;
  /// h Ug of the gate number `i`, for an h of read_state() or what becomes of it.
  GraphValue recurrent_product(Graph& graph, GraphValue h, std::size_t i) const;
  /// h Ug of every gate.
  std::vector<GraphValue> recurrent_products(Graph& graph, GraphValue h) const;
  /// The sequences as gates read them: while training, features of them are dropped.
  GraphValue read_input(Graph& graph, GraphValue x) const;
  /// The first states among the inputs, each [units]; none where the layer begins at 0.
  std::vector<GraphValue> first_states(Graph& graph, std::span<const GraphValue> inputs) const;
  const Cell& cell() const { return cell_; }
  Index units() const { return units_; }
  /// Wg and bg of the gate number `i`, and Ug.
  LayerWeights input_weights(std::size_t i) const { return gate(kernel_, 0, i); }
  LayerWeights recurrent_weights(std::size_t i) const { return gate(recurrent_kernel_, 1, i); }
  const Tensor& bias() const { return bias_; }

  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override;

  template <class L>
  static std::unique_ptr<L> make_recurrent(const Description& description) {
    return std::make_unique<L>(units_of(description), options_of(description));
  }

 private:
  static Index units_of(const Description& description);
  static RecurrentOptions options_of(const Description& description);
  void require_shapes(std::span<const Shape> inputs) const;
  /// How many inputs are no first states.
  std::size_t sequence_count() const { return options_.masked ? 2 : 1; }
  GraphValue masked_state(Graph& graph, GraphValue mask, GraphValue before, GraphValue next) const;
  Index columns() const { return static_cast<Index>(cell_.gates.size()) * units_; }
  /// The columns of gate `i`, with row `row` of the biases.
  LayerWeights gate(const Tensor& kernel, Index row, std::size_t i) const;

  Index units_;
  RecurrentOptions options_;
  Cell cell_;
  /// Whether the layer is fused and the rounding mode has its operator.
  bool has_operator_ = false;
  Tensor kernel_;
  Tensor recurrent_kernel_;
  Tensor bias_;
};

}  // namespace octet
