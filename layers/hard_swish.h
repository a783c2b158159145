#pragma once

#include <octet/layers/layer.h>

namespace octet {

/// y = x min(max(x + 3, 0), 6) / 6. The gradient is 0 below -3, 1 above 3 and (2 x + 3) / 6 in
/// between, ends included. (Howard et al., Searching for MobileNetV3, 2019.)
class HardSwish : public Layer {
 public:
  static constexpr std::string_view kType = "HardSwish";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit HardSwish(std::string name = "") : Layer(std::move(name)) {}

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  std::unique_ptr<Layer> clone() const override;
};

}  // namespace octet
