#pragma once

#include <octet/layers/layer.h>

#include <vector>

namespace octet {

/// Puts the axes of an example in another order: axis i of the result is axis axes[i] of the input,
/// counted from 1 as Keras' Permute counts them, which leaves 0 to the batch. {2, 1} makes [n, b,
/// a] of [n, a, b]. Quantized, its result has the scale and the zero point of what it reads.
/// build() throws InvalidArgument unless `axes` names each axis of the input once.
class Permute : public Layer {
 public:
  static constexpr std::string_view kType = "Permute";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit Permute(std::vector<Index> axes, std::string name = "");

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Permute>(*this); }

 private:
  std::vector<Index> axes_;
};

}  // namespace octet
