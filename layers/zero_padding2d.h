#pragma once

#include <octet/core/ops/image_ops.h>
#include <octet/layers/layer.h>

namespace octet {

/// Zeros around images: [h, w, c] to [top + h + bottom, left + w + right, c], pad2d(). In front of
/// a layer with padding valid it pads as other frameworks do, the same on both sides:
///
///     ZeroPadding2D({.top = 1, .bottom = 1, .left = 1, .right = 1})
///
/// build() throws InvalidArgument for examples that are no images and for a negative padding.
class ZeroPadding2D : public Layer {
 public:
  static constexpr std::string_view kType = "ZeroPadding2D";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit ZeroPadding2D(const Padding2D& padding, std::string name = "")
      : Layer(std::move(name)), padding_(padding) {}

  std::string_view type() const override { return kType; }
  const Padding2D& padding() const { return padding_; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override;

 private:
  Padding2D padding_;
};

}  // namespace octet
