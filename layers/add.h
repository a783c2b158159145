#pragma once

#include <octet/layers/merge.h>

namespace octet {

/// y = f(a + b), f the identity, relu or relu6; Merge says which inputs.
class Add : public ActivatedMerge {
 public:
  static constexpr std::string_view kType = "Add";
  static std::unique_ptr<Layer> make(const Description& d) { return make_merge<Add>(d); }

  /// Throws InvalidArgument for another activation.
  explicit Add(Activation activation = Activation::none, std::string name = "")
      : ActivatedMerge(kType, OpCode::add, activation, std::move(name)) {}

  std::string_view type() const override { return kType; }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Add>(*this); }
};

}  // namespace octet
