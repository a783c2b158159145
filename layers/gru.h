#pragma once

#include <octet/layers/recurrent.h>

namespace octet {

using GRUOptions = RecurrentOptions;

/// A gated recurrent unit over sequences [steps, features], by default as in Keras with reset_after
/// = true (Cho et al., 2014; the order of cuDNN). Behind step t, with the state h = 0 in front of
/// the first:
///
///   z = sigmoid(x_t Wz + bz + h Uz + cz)        r = sigmoid(x_t Wr + br + h Ur + cr)
///   n = tanh(x_t Wn + bn + r (h Un + cn))       h' = n + z (h - n)
///
/// With reset_after = false (Cho et al. as first published; Keras' option, ONNX'
/// linear_before_reset 0), n = tanh(x_t Wn + bn + (r h) Un), and c is 0.
///
/// Parameters, first states and quantization: see Recurrent; "bias" is [2, 3 units], b and c, the
/// gates in the order z, r, n; with reset_after = false [3 units], b alone. step_model() makes the
/// model that goes through a sequence step by step.
class GRU : public Recurrent {
 public:
  static constexpr std::string_view kType = "GRU";
  static std::unique_ptr<Layer> make(const Description& d) { return make_recurrent<GRU>(d); }

  /// Throws InvalidArgument for less than 1 unit, or more than tensors hold.
  explicit GRU(Index units, GRUOptions options = {});

  std::string_view type() const override { return kType; }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<GRU>(*this); }

 protected:
  std::vector<GraphValue> step(Graph& graph, std::span<const GraphValue> x,
                               std::span<const GraphValue> states) const override;
};

}  // namespace octet
