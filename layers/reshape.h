#pragma once

#include <octet/layers/layer.h>

namespace octet {

/// [batch, a, b, ...] to [batch, target...]; one extent of the target may be -1.
class Reshape : public Layer {
 public:
  static constexpr std::string_view kType = "Reshape";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit Reshape(Shape target, std::string name = "")
      : Layer(std::move(name)), target_(std::move(target)) {}

  std::string_view type() const override { return kType; }
  const Shape& target() const { return target_; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override;

 protected:
  /// Throws InvalidArgument where the sizes disagree.

 private:
  /// Throws InvalidArgument where the sizes disagree.
  Shape target_for(const Shape& examples) const;

  Shape target_;
};

/// [batch, a, b, ...] to [batch, a * b * ...].
class Flatten : public Reshape {
 public:
  static constexpr std::string_view kType = "Flatten";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit Flatten(std::string name = "") : Reshape({-1}, std::move(name)) {}
  std::string_view type() const override { return kType; }
  void describe(Description& /*description*/) const override {}
  std::unique_ptr<Layer> clone() const override;
};

}  // namespace octet
