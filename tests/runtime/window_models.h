#pragma once

#include <octet/tests/runtime/conv_models.h>

#include <array>
#include <cstring>
#include <optional>

// Models of one pool, one DEPTHWISE_CONV_2D or one PAD, and what they compute as loops over their
// definition.

namespace octet::test {

// ---- Pools

struct Pooling {
  OpCode code = OpCode::average_pool_2d;
  std::vector<std::int32_t> image{1, 4, 4, 2};
  PoolAttributes attributes;
  QuantParams grid = quant(0.05F, 3);

  WindowAxis axis(bool is_y) const {
    const PoolAttributes& a = attributes;
    return is_y ? slide_window(image[1], a.filter_h, a.stride_h, 1, a.padding)
                : slide_window(image[2], a.filter_w, a.stride_w, 1, a.padding);
  }
  std::vector<std::int32_t> result() const {
    return {image[0], static_cast<std::int32_t>(axis(true).output),
            static_cast<std::int32_t>(axis(false).output), image[3]};
  }
};

inline IntegerModel model_of(const Pooling& p, DType dtype = DType::int8) {
  RawModelBuilder b;
  const QuantParams grid = dtype == DType::int8 ? p.grid : QuantParams{{}, {}, 0, 0, 0};
  b.model.inputs = {b.activation("x", p.image, dtype, grid)};
  b.model.outputs = {b.activation("y", p.result(), dtype, grid)};
  b.op(p.code, {0}, 1, p.attributes);
  return b.model;
}

/// All pixels inside each window as one list: `finish(list)` is the output.
template <class T, class Finish>
std::vector<T> naive_pool(const Pooling& p, const std::vector<T>& x, Finish&& finish) {
  const PoolAttributes& a = p.attributes;
  std::vector<T> y;
  for (std::int32_t n = 0; n < p.image[0]; ++n) {
    for (std::int32_t oy = 0; oy < p.result()[1]; ++oy) {
      for (std::int32_t ox = 0; ox < p.result()[2]; ++ox) {
        for (std::int32_t c = 0; c < p.image[3]; ++c) {
          std::vector<T> inside;
          for (std::int32_t ky = 0; ky < a.filter_h; ++ky) {
            for (std::int32_t kx = 0; kx < a.filter_w; ++kx) {
              const Index iy = Index{oy} * a.stride_h - p.axis(true).before + ky;
              const Index ix = Index{ox} * a.stride_w - p.axis(false).before + kx;
              if (iy < 0 || iy >= p.image[1] || ix < 0 || ix >= p.image[2]) continue;
              inside.push_back(x[static_cast<std::size_t>(
                  ((n * p.image[1] + iy) * p.image[2] + ix) * p.image[3] + c)]);
            }
          }
          y.push_back(finish(inside));
        }
      }
    }
  }
  return y;
}

inline std::vector<std::int8_t> naive_codes(const Pooling& p, const std::vector<std::int8_t>& x,
                                            Rounding rounding) {
  const oracle::Quant grid{p.grid.scale(), p.grid.zero_point()};
  const oracle::Clamp clamp = oracle_clamp(p.attributes.activation);
  const bool mean = p.code == OpCode::average_pool_2d;
  const bool of_xnnpack = !mean && rounding == Rounding::fp32 &&
                          p.attributes.stride_h <= p.attributes.filter_h &&
                          p.attributes.stride_w <= p.attributes.filter_w;
  const oracle::Limits limits =
      of_xnnpack ? oracle::limits_to_even(clamp, grid) : oracle::limits_of(clamp, grid);
  return naive_pool(p, x, [&](const std::vector<std::int8_t>& inside) {
    double code = *std::ranges::max_element(inside);
    if (mean) {
      double sum = 0;
      for (const std::int8_t i : inside) sum += i;
      // Ties go away from 0.
      code = std::round(sum / static_cast<double>(inside.size()));
    }
    return static_cast<std::int8_t>(
        std::clamp(static_cast<std::int64_t>(code), limits.lo, limits.hi));
  });
}

inline Pooling draw_pooling(Draw& draw) {
  Pooling p;
  p.code = draw.between(0, 1) == 0 ? OpCode::average_pool_2d : OpCode::max_pool_2d;
  p.image = {draw.between(1, 2), draw.between(1, 11), draw.between(1, 11),
             draw.between(0, 7) == 0 ? draw.between(120, 300) : draw.between(1, 9)};
  p.attributes = {.padding = Padding::same,
                  .stride_h = draw.between(1, 3),
                  .stride_w = draw.between(1, 5),
                  .filter_h = draw.between(1, 5),
                  .filter_w = draw.between(1, 13),
                  .activation = static_cast<FusedActivation>(draw.between(0, 3))};
  if (p.attributes.filter_h <= p.image[1] && p.attributes.filter_w <= p.image[2]) {
    p.attributes.padding = draw.between(0, 1) == 0 ? Padding::valid : Padding::same;
  }
  p.grid = quant(draw.uniform(0.01F, 0.1F), draw.between(-128, 100));
  return p;
}

// ---- DEPTHWISE_CONV_2D: a CONV_2D with a group for every channel

/// `c` with filters over single channels.
inline IntegerModel depthwise_model(const Conv& c) {
  RawModelBuilder b;
  const std::int32_t units = c.units();
  const std::int32_t taps = c.filter[1] * c.filter[2];
  std::vector<std::int8_t> weights(c.weights.size());
  for (std::int32_t u = 0; u < units; ++u) {
    for (std::int32_t tap = 0; tap < taps; ++tap) {
      const std::int64_t to = std::int64_t{tap} * units + u;
      const std::int64_t from = std::int64_t{u} * taps + tap;
      weights[static_cast<std::size_t>(to)] = c.weights[static_cast<std::size_t>(from)];
    }
  }
  QuantParams grid = weight_grid(c);
  grid.quantized_dimension = 3;
  const std::int32_t x = b.activation("x", c.image, DType::int8, c.in);
  std::vector<std::int32_t> inputs{
      x, b.constant("w", {1, c.filter[1], c.filter[2], units}, DType::int8, weights, grid)};
  if (!c.bias.empty()) {
    inputs.push_back(b.constant("bias", {units}, DType::int32, c.bias, bias_grid(c)));
  }
  const std::int32_t y = b.activation("y", c.result(), DType::int8, c.out);
  const Conv2DAttributes& a = c.attributes;
  b.op(OpCode::depthwise_conv_2d, inputs, y,
       DepthwiseConv2DAttributes{.padding = a.padding,
                                 .stride_h = a.stride_h,
                                 .stride_w = a.stride_w,
                                 .dilation_h = a.dilation_h,
                                 .dilation_w = a.dilation_w,
                                 .depth_multiplier = units / c.image[3],
                                 .activation = a.activation});
  b.model.inputs = {x};
  b.model.outputs = {y};
  return b.model;
}

/// XNNPACK takes it with a bias; TensorFlow Lite's own kernel rounds twice.
inline Rounding depthwise_contract(const Conv& c, Rounding rounding) {
  return rounding == Rounding::fp32 && !c.bias.empty() ? rounding : Rounding::double_rounding;
}

inline Conv draw_depthwise(Draw& draw) {
  Conv c = draw_conv(draw);
  c.image[3] = draw.between(0, 5) == 0 ? draw.between(60, 150) : draw.between(1, 20);
  c.filter[0] = c.image[3] * draw.between(1, 3);
  c.filter[3] = 1;
  const auto units = static_cast<std::size_t>(c.units());
  c.weights = random_codes(
      units * static_cast<std::size_t>(c.filter[1]) * static_cast<std::size_t>(c.filter[2]), draw);
  const bool per_channel = c.weight_scales.size() > 1;
  c.weight_scales.assign(per_channel ? units : 1, 0.0F);
  for (float& scale : c.weight_scales) scale = draw.uniform(0.002F, 0.03F);
  const bool has_bias = !c.bias.empty();
  c.bias.assign(has_bias ? units : 0, 0);
  for (std::int32_t& value : c.bias) value = draw.between(-9999, 9999);
  return c;
}

// ---- PAD, and PADV2 with a border of a value of its own

inline IntegerModel pad_model(const std::vector<std::int32_t>& shape,
                              const std::vector<std::array<std::int32_t, 2>>& paddings,
                              const QuantParams& grid, DType dtype = DType::int8,
                              std::optional<float> border = std::nullopt) {
  RawModelBuilder b;
  std::vector<std::int32_t> values;
  std::vector<std::int32_t> result = shape;
  for (std::size_t i = 0; i < paddings.size(); ++i) {
    values.insert(values.end(), paddings[i].begin(), paddings[i].end());
    result[i] += paddings[i][0] + paddings[i][1];
  }
  const auto tensor = [&](const char* name, const std::vector<std::int32_t>& of) {
    return b.add({name, dtype, of, {}, grid, {}});
  };
  b.model.inputs = {tensor("x", shape)};
  const std::int32_t p = b.constant("paddings", {static_cast<std::int32_t>(paddings.size()), 2},
                                    DType::int32, values, QuantParams{{}, {}, 0, 0, 0});
  const std::int32_t y = tensor("y", result);
  b.model.outputs = {y};
  if (!border) {
    b.op(OpCode::pad, {0, p}, y);
    return b.model;
  }
  const std::int32_t value =
      dtype == DType::float32
          ? b.constant("value", {}, dtype, std::vector{*border}, grid)
          : b.constant("value", {1}, dtype, std::vector{static_cast<std::int8_t>(*border)}, grid);
  b.op(OpCode::padv2, {0, p, value}, y);
  return b.model;
}

/// Where each output comes from, by index arithmetic; the border where from nowhere.
inline std::vector<std::int8_t> naive_pad(const IntegerModel& model,
                                          const std::vector<std::int8_t>& x) {
  const auto& in = model.tensors[0].shape;
  const auto& out = model.tensors[2].shape;
  std::vector<std::int32_t> paddings(2 * in.size());
  std::memcpy(paddings.data(), model.tensors[1].data.data(), 8 * in.size());
  std::vector<std::int8_t> y(static_cast<std::size_t>(model.tensors[2].size()));
  for (std::size_t i = 0; i < y.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t from = 0;
    std::int64_t stride = 1;
    bool inside = true;
    for (std::size_t k = in.size(); k-- > 0;) {
      const std::int64_t at = rest % out[k] - paddings[2 * k];
      rest /= out[k];
      inside = inside && at >= 0 && at < in[k];
      from += at * stride;
      stride *= in[k];
    }
    const std::int32_t border = model.tensors.size() > 3
                                    ? static_cast<std::int8_t>(model.tensors[3].data[0])
                                    : model.tensors[2].quantization.zero_point();
    y[i] = inside ? x[static_cast<std::size_t>(from)] : static_cast<std::int8_t>(border);
  }
  return y;
}

inline IntegerModel draw_pad(Draw& draw, OpCode code = OpCode::pad) {
  std::vector<std::int32_t> shape;
  std::vector<std::array<std::int32_t, 2>> paddings;
  for (std::int32_t i = draw.between(1, 5); i > 0; --i) {
    shape.push_back(draw.between(1, 5));
    const bool none = draw.between(0, 1) == 0;
    paddings.push_back({none ? 0 : draw.between(0, 3), none ? 0 : draw.between(0, 3)});
  }
  const QuantParams grid = quant(0.05F, draw.between(-128, 127));
  if (code == OpCode::pad) return pad_model(shape, paddings, grid);
  return pad_model(shape, paddings, grid, DType::int8, static_cast<float>(draw.between(-128, 127)));
}

}  // namespace octet::test
