#pragma once

#include <octet/core/conv2d_geometry.h>
#include <octet/core/tensor.h>
#include <octet/layers/quantize/int8_gradients.h>
#include <octet/layers/quantize/measured_gradient.h>
#include <octet/tests/core/draw.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

// Draws operands for tests of the products of Backward::int8.

namespace octet::test {

inline std::vector<std::int8_t> drawn_codes(Index size, Draw& draw) {
  std::vector<std::int8_t> codes(static_cast<std::size_t>(size));
  for (std::int8_t& code : codes) code = static_cast<std::int8_t>(draw.between(-128, 127));
  return codes;
}

inline std::vector<float> drawn_scales(Index units, Draw& draw) {
  std::vector<float> scales(static_cast<std::size_t>(draw.between(0, 1) == 0 ? 1 : units));
  for (float& scale : scales) scale = draw.uniform(0.001F, 0.1F);
  return scales;
}

inline Tensor drawn_gradient(const Shape& shape, Draw& draw) {
  Tensor g(shape);
  for (float& value : g.mutable_span()) {
    value = draw.between(0, 3) == 0 ? 0.0F : draw.uniform(-1e-3F, 1e-3F);
  }
  return g;
}

/// g [images, height, width, units], measured image by image.
inline MeasuredGradient measured_images(const Tensor& g) { return {g, g.dim(1) * g.dim(2)}; }

/// A kernel [inputs, units] as the forward pass packs it.
inline PackedS8 packed_units(std::span<const std::int8_t> kernel, Index units) {
  const Index inputs = static_cast<Index>(kernel.size()) / units;
  return {transposed_matrix(kernel, inputs).data(), units, inputs};
}

inline float scale_of(const std::vector<float>& scales, Index unit) {
  return scales[scales.size() > 1 ? static_cast<std::size_t>(unit) : 0];
}

inline Window drawn_window(Draw& draw, Index most_dilation) {
  const auto axis = [&] {
    const auto padding = draw.between(0, 1) == 0 ? Padding::same : Padding::valid;
    return slide_window(draw.between(5, 9), draw.between(1, 3), draw.between(1, 3),
                        draw.between(Index{1}, most_dilation), padding);
  };
  return {axis(), axis()};
}

/// A convolution of drawn geometry, of one group.
inline Conv2DGeometry drawn_geometry(Draw& draw, Index most_dilation = 2) {
  // Some fill vectors, and what lies behind them.
  const auto many = [&] {
    return draw.between(0, 3) == 0 ? draw.between(8, 35) : draw.between(1, 5);
  };
  return {.window = drawn_window(draw, most_dilation),
          .images = draw.between(1, 4),
          .channels = many(),
          .filters = many()};
}

/// A depthwise convolution of drawn geometry, of one to three units for each channel.
inline Conv2DGeometry drawn_depthwise(Draw& draw) {
  const Index channels = draw.between(1, 40);
  return {.window = drawn_window(draw, 2),
          .images = draw.between(1, 9),
          .channels = channels,
          .filters = channels * draw.between(1, 3),
          .groups = channels};
}

inline std::vector<float> values_or_none(const std::optional<Tensor>& tensor) {
  if (!tensor) return {};
  return {tensor->span().begin(), tensor->span().end()};
}

}  // namespace octet::test
