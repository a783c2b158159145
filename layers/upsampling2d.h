#pragma once

#include <octet/layers/layer.h>

#include <array>
#include <concepts>

namespace octet {

/// How new pixels are computed from those around them.
enum class Interpolation {
  nearest,  ///< Each pixel is repeated.
  bilinear  ///< resize_bilinear() with ResizeCoordinates::half_pixel.
};

/// "nearest" or "bilinear". Throws InvalidArgument for a value outside the enumeration.
std::string_view to_string(Interpolation interpolation);
/// Returns the interpolation of that name. Throws InvalidArgument for another.
Interpolation parse_interpolation(std::string_view name);

/// Gives images [h, w, c] `factors` (height, width) times as many rows and columns, [h *
/// factors[0], w * factors[1], c]: repeats each pixel, upsample2d(), or interpolates between them.
/// build() throws InvalidArgument for examples that are no images and for a factor below 1.
class UpSampling2D : public Layer {
 public:
  static constexpr std::string_view kType = "UpSampling2D";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit UpSampling2D(const std::array<Index, 2>& factors = {2, 2}, std::string name = "")
      : UpSampling2D(factors, Interpolation::nearest, std::move(name)) {}
  UpSampling2D(const std::array<Index, 2>& factors, Interpolation interpolation,
               std::string name = "")
      : Layer(std::move(name)), factors_(factors), interpolation_(interpolation) {}
  /// Multiplies rows and columns by one factor: UpSampling2D(2). A template, so that {} are no
  /// number.
  template <std::integral Factor>
  explicit UpSampling2D(Factor factor, std::string name = "")
      : UpSampling2D(std::array<Index, 2>{static_cast<Index>(factor), static_cast<Index>(factor)},
                     std::move(name)) {}

  std::string_view type() const override { return kType; }
  const std::array<Index, 2>& factors() const { return factors_; }
  Interpolation interpolation() const { return interpolation_; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override;

 private:
  std::array<Index, 2> factors_;
  Interpolation interpolation_;
};

}  // namespace octet
