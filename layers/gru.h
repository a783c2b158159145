#pragma once

#include <octet/layers/layer.h>

namespace octet {

struct GRUOptions {
  /// Whether the result holds the state behind every step, [steps, units], or behind the last.
  bool return_sequences = false;
  std::string name{};
};

/// A gated recurrent unit over sequences [steps, features], as in Keras with reset_after = true
/// (Cho et al., 2014; the order of cuDNN). Behind step t, with the state h = 0 in front of the
/// first:
///
///   z = sigmoid(x_t Wz + bz + h Uz + cz)        r = sigmoid(x_t Wr + br + h Ur + cr)
///   n = tanh(x_t Wn + bn + r (h Un + cn))       h' = n + z (h - n)
///
/// Parameters: "kernel" [features, 3 units], "recurrent_kernel" [units, 3 units] and "bias"
/// [2, 3 units], the gates z, r, n side by side, as Keras has them. Quantized, a gate has a kernel
/// of its own, and a value has one scale at all steps. The first state is another input, [units]
/// or [1, units], where the layer reads two. step_model() makes the model that goes through a
/// sequence step by step.
class GRU : public Layer {
 public:
  static constexpr std::string_view kType = "GRU";
  static std::unique_ptr<Layer> make(const Description& description);

  /// Throws InvalidArgument for less than 1 unit, or more than tensors hold.
  explicit GRU(Index units, GRUOptions options = {});
  GRU(const GRU& other);

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  std::vector<NamedTensor> parameters() const override;
  void describe(Description& description) const override;
  std::vector<std::pair<std::string, Shape>> large_tensors(const Shape& input) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<GRU>(*this); }

 protected:
  Shape do_build_all(std::span<const Shape> input_shapes, const Random& random) override;

 private:
  GraphValue step(Graph& g, const std::array<GraphValue, 3>& x, GraphValue h) const;
  /// Gate `i` of x W + b or of h U + c.
  LayerWeights gate(const Tensor& kernel, Index bias, Index i) const;

  Index units_;
  GRUOptions options_;
  Tensor kernel_;
  Tensor recurrent_kernel_;
  Tensor bias_;
};

}  // namespace octet
