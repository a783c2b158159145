#pragma once

#include <octet/core/ops/image_ops.h>
#include <octet/layers/layer.h>

namespace octet {

/// Cuts steps off both ends of sequences: [steps, channels] to [steps - begin - end, channels], as
/// in Keras. Quantized, its result has the scale and the zero point of what it reads. build()
/// throws InvalidArgument for examples that are no sequences, for a negative number, and where
/// nothing would be left.
class Cropping1D : public Layer {
 public:
  static constexpr std::string_view kType = "Cropping1D";
  static std::unique_ptr<Layer> make(const Description& description);

  Cropping1D(Index begin, Index end, std::string name = "")
      : Layer(std::move(name)), begin_(begin), end_(end) {}

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Cropping1D>(*this); }

 private:
  Index begin_;
  Index end_;
};

/// Cuts rows and columns off images: [h, w, c] to [h - top - bottom, w - left - right, c], as in
/// Keras; what ZeroPadding2D has added it takes off. Quantized, its result has the scale and the
/// zero point of what it reads. build() throws InvalidArgument for examples that are no images, for
/// a negative number, and where nothing would be left.
///
///     Cropping2D({.top = 1, .bottom = 1, .left = 2, .right = 2})
class Cropping2D : public Layer {
 public:
  static constexpr std::string_view kType = "Cropping2D";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit Cropping2D(const Padding2D& cropping, std::string name = "")
      : Layer(std::move(name)), cropping_(cropping) {}

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Cropping2D>(*this); }

 private:
  Padding2D cropping_;
};

}  // namespace octet
