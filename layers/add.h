#pragma once

#include <octet/layers/merge.h>

namespace octet {

/// y = f(a + b), f the identity, relu or relu6; Merge says which inputs.
class Add : public Merge {
 public:
  static constexpr std::string_view kType = "Add";
  static std::unique_ptr<Layer> make(const Description& description);

  /// Throws InvalidArgument for another activation.
  explicit Add(Activation activation = Activation::none, std::string name = "");

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  std::unique_ptr<Layer> clone() const override;
};

}  // namespace octet
