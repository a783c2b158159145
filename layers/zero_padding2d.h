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
  Tensor forward(const Tensor& x, const ForwardContext& context) override;
  ResultGrid result_grid(Rounding /*rounding*/) const override { return ResultGrid::as_input; }
  std::int32_t lower(Lowering& lowering, std::span<const std::int32_t> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override;

 protected:
  Shape do_build(const Shape& input_shape, const Random& random) override;

 private:
  Padding2D padding_;
};

}  // namespace octet
