#pragma once

#include <octet/layers/layer.h>

namespace octet {

/// Concatenates its inputs along `axis`: [n, ..., a, ...] and [n, ..., b, ...] give [n, ..., a + b,
/// ...]; all other extents must match. Axis 0 is the first after the batch; a negative one counts
/// from the end. Quantized, all inputs and the result share one scale and zero point, whose range
/// holds that of every input, as int8 runtimes require. build() throws InvalidArgument for fewer
/// than two inputs, for an axis that the inputs do not have, and for shapes that do not match.
class Concatenate : public Layer {
 public:
  static constexpr std::string_view kType = "Concatenate";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit Concatenate(Index axis = -1, std::string name = "");

  std::string_view type() const override { return kType; }
  Index axis() const { return axis_; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override;

 private:
  Index axis_;
};

}  // namespace octet
