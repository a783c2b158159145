#pragma once

#include <octet/layers/layer.h>

namespace octet {

/// y = x where x >= 0, alpha x elsewhere; the gradient at 0 is alpha. (Maas et al., Rectifier
/// Nonlinearities Improve Neural Network Acoustic Models, 2013; alpha as in Keras.)
class LeakyReLU : public Layer {
 public:
  static constexpr std::string_view kType = "LeakyReLU";
  static std::unique_ptr<Layer> make(const Description& description);

  /// Throws InvalidArgument unless alpha is finite and not negative.
  explicit LeakyReLU(float alpha = 0.3F, std::string name = "");

  std::string_view type() const override { return kType; }
  float alpha() const { return alpha_; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override;

 private:
  float alpha_;
};

}  // namespace octet
