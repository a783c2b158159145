#pragma once

#include <octet/layers/merge.h>

namespace octet {

/// y = max(a, b); where they are equal, each gets half of the gradient. Merge says which inputs.
/// Quantized, both inputs share one scale and zero point, as those of a Concatenate.
class Maximum : public Merge {
 public:
  static constexpr std::string_view kType = "Maximum";
  static std::unique_ptr<Layer> make(const Description& /*description*/) {
    return std::make_unique<Maximum>();
  }

  explicit Maximum(std::string name = "") : Merge(OpCode::maximum, std::move(name)) {}

  std::string_view type() const override { return kType; }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Maximum>(*this); }
};

/// y = min(a, b); where they are equal, each gets half of the gradient. Merge says which inputs.
/// Quantized, both inputs share one scale and zero point, as those of a Concatenate.
class Minimum : public Merge {
 public:
  static constexpr std::string_view kType = "Minimum";
  static std::unique_ptr<Layer> make(const Description& /*description*/) {
    return std::make_unique<Minimum>();
  }

  explicit Minimum(std::string name = "") : Merge(OpCode::minimum, std::move(name)) {}

  std::string_view type() const override { return kType; }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Minimum>(*this); }
};

}  // namespace octet
