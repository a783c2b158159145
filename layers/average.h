#pragma once

#include <octet/layers/merge.h>

namespace octet {

/// y = f((a + b) / 2), f the identity, relu or relu6; Merge says which inputs. The operators are an
/// ADD and a MUL by a constant, each with a scale of its own.
class Average : public ActivatedMerge {
 public:
  static constexpr std::string_view kType = "Average";
  static std::unique_ptr<Layer> make(const Description& d) { return make_merge<Average>(d); }

  /// Throws InvalidArgument for another activation.
  explicit Average(Activation activation = Activation::none, std::string name = "")
      : ActivatedMerge(kType, OpCode::mul, activation, std::move(name)) {}

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Average>(*this); }
};

}  // namespace octet
