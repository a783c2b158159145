#pragma once

#include <octet/layers/layer.h>

namespace octet {

/// Repeats a vector at every step: examples [features] become sequences [steps, features], as in
/// Keras. Quantized, its result has the scale and the zero point of what it reads. build() throws
/// InvalidArgument for examples of another rank.
class RepeatVector : public Layer {
 public:
  static constexpr std::string_view kType = "RepeatVector";
  static std::unique_ptr<Layer> make(const Description& description);

  /// Throws InvalidArgument for less than 1 step.
  explicit RepeatVector(Index steps, std::string name = "");

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<RepeatVector>(*this); }

 protected:
  Shape do_build(const Shape& input_shape, const Random& random) override;

 private:
  Index steps_;
};

}  // namespace octet
