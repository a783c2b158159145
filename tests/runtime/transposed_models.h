#pragma once

#include <octet/tests/runtime/window_models.h>

#include <array>

// Models of one TRANSPOSE_CONV, and what it computes as loops over its definition.

namespace octet::test {

/// `conv` has the image, the weights [units, height, width, channels], stride, padding and grids.
struct Transposed {
  Conv conv;
  /// Height and width of the output.
  std::array<std::int32_t, 2> output{5, 5};
  /// Whether the bias has a scale in the file.
  bool bias_scale = true;

  std::vector<std::int32_t> result() const {
    return {conv.image[0], output[0], output[1], conv.units()};
  }
  /// Padding in front, of the convolution from the output to the image, as TensorFlow has it.
  std::int32_t before(std::size_t axis) const {
    if (conv.attributes.padding == Padding::valid) return 0;
    const std::int32_t stride = axis == 0 ? conv.attributes.stride_h : conv.attributes.stride_w;
    const std::int32_t total =
        (conv.image[axis + 1] - 1) * stride + conv.filter[axis + 1] - output[axis];
    return std::max(total, 0) / 2;
  }
};

inline IntegerModel transposed_model(const Transposed& t) {
  const Conv& c = t.conv;
  RawModelBuilder b;
  const std::int32_t x = b.activation("x", c.image, DType::int8, c.in);
  const std::int32_t w = b.constant("w", c.filter, DType::int8, c.weights, weight_grid(c));
  QuantParams grid = weight_grid(c);
  for (float& scale : grid.scales) scale *= c.in.scale();
  if (!t.bias_scale) grid = QuantParams{{}, {}, 0, 0, 0};
  const std::int32_t bias =
      c.bias.empty() ? -1 : b.constant("bias", {c.units()}, DType::int32, c.bias, grid);
  const std::int32_t shape =
      b.constant("shape", {4}, DType::int32, t.result(), QuantParams{{}, {}, 0, 0, 0});
  const std::int32_t y = b.activation("y", t.result(), DType::int8, c.out);
  b.op(OpCode::transpose_conv, {x, w, bias, shape}, y,
       TransposeConvAttributes{.padding = c.attributes.padding,
                               .stride_h = c.attributes.stride_h,
                               .stride_w = c.attributes.stride_w,
                               .activation = c.attributes.activation});
  b.model.inputs = {x};
  b.model.outputs = {y};
  return b.model;
}

/// The sums of any numbers: add(output position, unit, image position, weight position) for every
/// pixel and every tap that falls on an output.
template <class Add>
void naive_transposed(const Transposed& t, Add&& add) {
  const Conv& c = t.conv;
  const std::int32_t channels = c.filter[3];
  for (std::int32_t n = 0; n < c.image[0]; ++n) {
    for (std::int32_t iy = 0; iy < c.image[1]; ++iy) {
      for (std::int32_t ix = 0; ix < c.image[2]; ++ix) {
        for (std::int32_t u = 0; u < c.units(); ++u) {
          for (std::int32_t ky = 0; ky < c.filter[1]; ++ky) {
            for (std::int32_t kx = 0; kx < c.filter[2]; ++kx) {
              const std::int32_t oy = iy * c.attributes.stride_h - t.before(0) + ky;
              const std::int32_t ox = ix * c.attributes.stride_w - t.before(1) + kx;
              if (oy < 0 || oy >= t.output[0] || ox < 0 || ox >= t.output[1]) continue;
              for (std::int32_t i = 0; i < channels; ++i) {
                const auto at = [](std::int32_t position) {
                  return static_cast<std::size_t>(position);
                };
                add(at(((n * t.output[0] + oy) * t.output[1] + ox) * c.units() + u), at(u),
                    at(((n * c.image[1] + iy) * c.image[2] + ix) * channels + i),
                    at(((u * c.filter[1] + ky) * c.filter[2] + kx) * channels + i));
              }
            }
          }
        }
      }
    }
  }
}

inline std::size_t outputs_of(const Transposed& t) {
  std::size_t size = 1;
  for (const std::int32_t extent : t.result()) size *= static_cast<std::size_t>(extent);
  return size;
}

/// XNNPACK takes padding valid, and padding same where no stride is larger than the kernel, but no
/// bias without a scale; TensorFlow Lite's own kernel rounds twice.
inline Rounding transposed_contract(const Transposed& t, Rounding rounding) {
  const Conv2DAttributes& a = t.conv.attributes;
  const bool skips = a.stride_h > t.conv.filter[1] || a.stride_w > t.conv.filter[2];
  const bool of_xnnpack =
      (a.padding == Padding::valid || !skips) && (t.conv.bias.empty() || t.bias_scale);
  return rounding == Rounding::fp32 && of_xnnpack ? rounding : Rounding::double_rounding;
}

inline std::vector<std::int8_t> naive_codes(const Transposed& t, const std::vector<std::int8_t>& x,
                                            Rounding rounding) {
  const Conv& c = t.conv;
  std::vector<std::int64_t> sums(outputs_of(t));
  for (std::size_t i = 0; i < sums.size() && !c.bias.empty(); ++i) {
    sums[i] = c.bias[i % c.bias.size()];
  }
  naive_transposed(t, [&](std::size_t to, std::size_t, std::size_t i, std::size_t k) {
    sums[to] += (std::int64_t{x[i]} - c.in.zero_point()) * c.weights[k];
  });
  const auto contract = oracle_contract(transposed_contract(t, rounding));
  const oracle::Quant out{c.out.scale(), c.out.zero_point()};
  const oracle::Clamp clamp = oracle_clamp(c.attributes.activation);
  const oracle::Limits limits = contract == oracle::Contract::fp32
                                    ? oracle::limits_to_even(clamp, out)
                                    : oracle::limits_of(clamp, out);
  std::vector<std::int8_t> y;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::size_t unit = i % static_cast<std::size_t>(c.units());
    const float w = c.weight_scales[c.weight_scales.size() > 1 ? unit : 0];
    const std::int64_t code =
        oracle::rescale(sums[i], double{c.in.scale()} * double{w} / double{c.out.scale()},
                        c.in.scale() * w / c.out.scale(), contract) +
        out.zero_point;
    y.push_back(static_cast<std::int8_t>(std::clamp(code, limits.lo, limits.hi)));
  }
  return y;
}

/// Outputs of all sizes from which a convolution leads back to the image, not only Keras' own.
inline Transposed draw_transposed(Draw& draw) {
  Transposed t;
  Conv& c = t.conv;
  c = draw_conv(draw);
  t.bias_scale = draw.between(0, 3) > 0;
  c.image[3] = c.filter[3];
  c.attributes.dilation_h = c.attributes.dilation_w = 1;
  c.attributes.padding = draw.between(0, 1) == 0 ? Padding::valid : Padding::same;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int32_t stride = axis == 0 ? c.attributes.stride_h : c.attributes.stride_w;
    const std::int32_t kernel = c.attributes.padding == Padding::same ? 1 : c.filter[axis + 1];
    t.output[axis] = (c.image[axis + 1] - 1) * stride + kernel + draw.between(0, stride - 1);
  }
  return t;
}

}  // namespace octet::test
