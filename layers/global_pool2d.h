#pragma once

#include <octet/layers/layer.h>

namespace octet {

/// The mean of each channel of images [h, w, c], as [c]: global_average_pool2d(). Lowered, it is an
/// AVERAGE_POOL_2D with a filter as large as the image, and a RESHAPE: the one form of it that all
/// runtimes compute alike. build() throws InvalidArgument for examples that are no images.
class GlobalAveragePool2D : public Layer {
 public:
  static constexpr std::string_view kType = "GlobalAveragePool2D";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit GlobalAveragePool2D(std::string name = "") : Layer(std::move(name)) {}

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  std::unique_ptr<Layer> clone() const override;
};

/// The largest value of each channel of images [h, w, c], as [c]: global_max_pool2d(). build()
/// throws InvalidArgument for examples that are no images.
class GlobalMaxPool2D : public Layer {
 public:
  static constexpr std::string_view kType = "GlobalMaxPool2D";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit GlobalMaxPool2D(std::string name = "") : Layer(std::move(name)) {}

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  std::unique_ptr<Layer> clone() const override;
};

}  // namespace octet
