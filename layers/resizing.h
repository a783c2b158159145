#pragma once

#include <octet/core/resize_coordinates.h>
#include <octet/layers/layer.h>

#include <array>

namespace octet {

/// Gives images [h, w, c] another `size` (height, width), [size[0], size[1], c], by bilinear
/// interpolation, resize_bilinear(), as Keras' Resizing does. Quantized, its result has the scale
/// and the zero point of what it reads. build() throws InvalidArgument for examples that are no
/// images and for a size below 1.
class Resizing : public Layer {
 public:
  static constexpr std::string_view kType = "Resizing";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit Resizing(const std::array<Index, 2>& size,
                    ResizeCoordinates coordinates = ResizeCoordinates::half_pixel,
                    std::string name = "")
      : Layer(std::move(name)), size_(size), coordinates_(coordinates) {}

  std::string_view type() const override { return kType; }
  const std::array<Index, 2>& size() const { return size_; }
  ResizeCoordinates coordinates() const { return coordinates_; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Resizing>(*this); }

 private:
  std::array<Index, 2> size_;
  ResizeCoordinates coordinates_;
};

}  // namespace octet
