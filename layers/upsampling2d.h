#pragma once

#include <octet/layers/layer.h>

#include <array>
#include <concepts>

namespace octet {

/// Repeats each pixel of images [h, w, c] in `factors` (height, width) rows and columns, to
/// [h * factors[0], w * factors[1], c]: nearest-neighbour interpolation, upsample2d(). build()
/// throws InvalidArgument for examples that are no images and for a factor below 1.
class UpSampling2D : public Layer {
 public:
  static constexpr std::string_view kType = "UpSampling2D";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit UpSampling2D(const std::array<Index, 2>& factors = {2, 2}, std::string name = "")
      : Layer(std::move(name)), factors_(factors) {}
  /// Repeats rows and columns by one factor: UpSampling2D(2). A template, so that {} are no number.
  template <std::integral Factor>
  explicit UpSampling2D(Factor factor, std::string name = "")
      : UpSampling2D(std::array<Index, 2>{static_cast<Index>(factor), static_cast<Index>(factor)},
                     std::move(name)) {}

  std::string_view type() const override { return kType; }
  const std::array<Index, 2>& factors() const { return factors_; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override;

 private:
  std::array<Index, 2> factors_;
};

}  // namespace octet
