#pragma once

#include <octet/runtime/interpreter.h>
#include <octet/tests/runtime/naive.h>

#include <string>
#include <vector>

// Models of one CONV_2D, and what it computes as loops over its definition.

namespace octet::test {

/// A CONV_2D of one operator, in plain numbers.
struct Conv {
  std::vector<std::int32_t> image{1, 5, 5, 3};   ///< [n, height, width, channels]
  std::vector<std::int32_t> filter{4, 3, 3, 3};  ///< [units, height, width, channels of a group]
  Conv2DAttributes attributes;
  QuantParams in = quant(0.05F, 3);
  QuantParams out = quant(0.1F, -5);
  std::vector<float> weight_scales{0.01F};
  std::int32_t weight_zero_point = 0;  ///< 0 where there are several scales
  std::vector<std::int8_t> weights;
  std::vector<std::int32_t> bias;  ///< empty for none

  std::int32_t units() const { return filter[0]; }
  WindowAxis y() const {
    return slide_window(image[1], filter[1], attributes.stride_h, attributes.dilation_h,
                        attributes.padding);
  }
  WindowAxis x() const {
    return slide_window(image[2], filter[2], attributes.stride_w, attributes.dilation_w,
                        attributes.padding);
  }
  std::vector<std::int32_t> result() const {
    return {image[0], static_cast<std::int32_t>(y().output), static_cast<std::int32_t>(x().output),
            units()};
  }
};

inline QuantParams weight_grid(const Conv& c) {
  QuantParams params = quant(c.weight_scales[0], 0);
  params.scales = c.weight_scales;
  params.zero_points.assign(c.weight_scales.size(), c.weight_zero_point);
  params.quantized_dimension = 0;
  return params;
}

/// XNNPACK takes no convolution whose bias has no scale.
inline QuantParams bias_grid(const Conv& c) {
  std::vector<float> scales;
  for (const float scale : c.weight_scales) scales.push_back(c.in.scale() * scale);
  const auto [lo, hi] = integer_limits(DType::int32);
  return {scales, std::vector<std::int32_t>(scales.size()), 0, lo, hi};
}

inline IntegerModel model_of(const Conv& c) {
  RawModelBuilder b;
  const std::int32_t x = b.activation("x", c.image, DType::int8, c.in);
  const std::int32_t w = b.constant("w", c.filter, DType::int8, c.weights, weight_grid(c));
  std::vector<std::int32_t> inputs{x, w};
  if (!c.bias.empty()) {
    inputs.push_back(b.constant("bias", {c.units()}, DType::int32, c.bias, bias_grid(c)));
  }
  const std::int32_t y = b.activation("y", c.result(), DType::int8, c.out);
  b.op(OpCode::conv_2d, inputs, y, c.attributes);
  b.model.inputs = {x};
  b.model.outputs = {y};
  return b.model;
}

/// y(n, oy, ox, u) of any numbers: `tap(image position, weight position)` for each tap inside the
/// image, then `end(u)`.
template <class Start, class Tap, class End>
void naive_conv(const Conv& c, Start&& start, Tap&& tap, End&& end) {
  const std::int32_t read = c.filter[3];
  const std::int32_t group_units = c.units() / (c.image[3] / read);
  for (std::int32_t n = 0; n < c.image[0]; ++n) {
    for (Index oy = 0; oy < c.y().output; ++oy) {
      for (Index ox = 0; ox < c.x().output; ++ox) {
        for (std::int32_t u = 0; u < c.units(); ++u) {
          start(u);
          for (std::int32_t ky = 0; ky < c.filter[1]; ++ky) {
            for (std::int32_t kx = 0; kx < c.filter[2]; ++kx) {
              const Index iy =
                  oy * c.attributes.stride_h - c.y().before + Index{ky} * c.attributes.dilation_h;
              const Index ix =
                  ox * c.attributes.stride_w - c.x().before + Index{kx} * c.attributes.dilation_w;
              if (iy < 0 || iy >= c.image[1] || ix < 0 || ix >= c.image[2]) continue;
              for (std::int32_t i = 0; i < read; ++i) {
                const Index channel = u / group_units * read + i;
                tap(static_cast<std::size_t>(
                        ((n * c.image[1] + iy) * c.image[2] + ix) * c.image[3] + channel),
                    static_cast<std::size_t>(((u * c.filter[1] + ky) * c.filter[2] + kx) * read +
                                             i));
              }
            }
          }
          end(u);
        }
      }
    }
  }
}

/// LiteRT's optimised kernel leaves several groups to its reference kernel, which rounds twice.
inline Rounding conv_2d_contract(const Conv& c, Rounding rounding) {
  const bool groups = c.image[3] != c.filter[3];
  return groups && rounding == Rounding::single_rounding ? Rounding::double_rounding : rounding;
}

inline std::vector<std::int8_t> naive_codes(const Conv& c, const std::vector<std::int8_t>& x,
                                            Rounding rounding) {
  const auto contract = oracle_contract(rounding);
  const oracle::Quant out{c.out.scale(), c.out.zero_point()};
  const oracle::Clamp clamp = oracle_clamp(c.attributes.activation);
  const oracle::Limits limits = contract == oracle::Contract::fp32
                                    ? oracle::limits_to_even(clamp, out)
                                    : oracle::limits_of(clamp, out);
  std::vector<std::int8_t> y;
  std::int64_t acc = 0;
  naive_conv(
      c, [&](std::int32_t u) { acc = c.bias.empty() ? 0 : c.bias[static_cast<std::size_t>(u)]; },
      [&](std::size_t i, std::size_t k) {
        acc += (std::int64_t{x[i]} - c.in.zero_point()) * (c.weights[k] - c.weight_zero_point);
      },
      [&](std::int32_t u) {
        const float w =
            c.weight_scales[c.weight_scales.size() > 1 ? static_cast<std::size_t>(u) : 0];
        const std::int64_t code =
            oracle::rescale(acc, double{c.in.scale()} * double{w} / double{c.out.scale()},
                            c.in.scale() * w / c.out.scale(), contract) +
            out.zero_point;
        y.push_back(static_cast<std::int8_t>(std::clamp(code, limits.lo, limits.hi)));
      });
  return y;
}

inline Conv draw_conv(Draw& draw) {
  Conv c;
  const std::int32_t groups = draw.between(0, 3) == 0 ? draw.between(1, 3) : 1;
  const std::int32_t read = draw.between(1, 9);
  c.filter = {groups * draw.between(1, 37), draw.between(1, 4), draw.between(1, 4), read};
  c.image = {draw.between(1, 2), draw.between(1, 11), draw.between(1, 11), groups * read};
  c.attributes = {.padding = Padding::same,
                  .stride_h = draw.between(1, 3),
                  .stride_w = draw.between(1, 5),
                  .dilation_h = draw.between(1, 2),
                  .dilation_w = draw.between(1, 3),
                  .activation = static_cast<FusedActivation>(draw.between(0, 3))};
  const auto span = [](std::int32_t kernel, std::int32_t dilation) {
    return (kernel - 1) * dilation + 1;
  };
  if (span(c.filter[1], c.attributes.dilation_h) <= c.image[1] &&
      span(c.filter[2], c.attributes.dilation_w) <= c.image[2] && draw.between(0, 1) == 0) {
    c.attributes.padding = Padding::valid;
  }
  c.in = quant(draw.uniform(0.01F, 0.1F), draw.between(-128, 127));
  c.out = quant(draw.uniform(0.02F, 0.4F), draw.between(-100, 100));
  c.weight_scales.clear();
  const std::int32_t scales = draw.between(0, 1) == 0 ? 1 : c.units();
  for (std::int32_t i = 0; i < scales; ++i) {
    c.weight_scales.push_back(draw.uniform(0.001F, 0.02F));
  }
  const std::int32_t weights = c.filter[0] * c.filter[1] * c.filter[2] * c.filter[3];
  c.weights = random_codes(static_cast<std::size_t>(weights), draw);
  if (draw.between(0, 3) > 0) {
    for (std::int32_t u = 0; u < c.units(); ++u) c.bias.push_back(draw.between(-9999, 9999));
  }
  return c;
}

/// `c` with weights of a zero point, where they have one scale, most of the time.
inline Conv with_weight_zero_point(Conv c, Draw& draw) {
  if (c.weight_scales.size() == 1 && draw.between(0, 2) > 0) {
    c.weight_zero_point = draw.between(-128, 127);
  }
  return c;
}

}  // namespace octet::test
