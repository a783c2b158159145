#pragma once

#include <octet/tests/runtime/pair_models.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

// ELU, GELU, EXP, LOG, SQRT, RSQRT, SQUEEZE, HARD_SWISH and RESIZE_NEAREST_NEIGHBOR: models of one
// operator, and a second implementation from the formulas. Those of two operands are in
// pair_models.h.

namespace octet::test {

// ---- ELU, GELU, EXP, LOG, SQRT and RSQRT

/// All quantized values through a function.
inline IntegerModel function_model(OpCode code, const QuantParams& in, const QuantParams& out,
                                   const OperatorAttributes& attributes = NoAttributes{}) {
  RawModelBuilder b;
  b.model.inputs = {b.activation("x", {1, 256}, DType::int8, in)};
  b.model.outputs = {b.activation("y", {1, 256}, DType::int8, out)};
  b.op(code, {0}, 1, attributes);
  return b.model;
}

inline IntegerModel rsqrt_model(const QuantParams& in, const QuantParams& out) {
  return function_model(OpCode::rsqrt, in, out);
}

inline IntegerModel draw_rsqrt(Draw& draw) {
  const float scale = std::pow(2.0F, draw.uniform(-14, 2));
  return rsqrt_model(quant(scale, -128),
                     quant(draw.uniform(0.003F, 0.03F) / std::sqrt(scale), draw.between(-128, 0)));
}

/// A GELU, or without a form an ELU.
using GeluOrElu = std::optional<GeluAttributes>;

inline IntegerModel draw_smooth(Draw& draw, const GeluOrElu& form) {
  const QuantParams in = draw_grid(draw);
  const QuantParams out = quant(in.scale() * draw.uniform(0.3F, 2.0F), draw.between(-128, 127));
  if (!form) return function_model(OpCode::elu, in, out);
  return function_model(OpCode::gelu, in, out, *form);
}

/// In float32 steps, each from the nearest double.
inline std::int8_t naive_smooth(std::int8_t q, const IntegerModel& model, const GeluOrElu& form,
                                Rounding rounding) {
  const QuantParams& in = model.tensors[0].quantization;
  const QuantParams& out = model.tensors[1].quantization;
  const float x = in.scale() * static_cast<float>(q - in.zero_point());
  float y = x;
  if (!form) {
    if (x < 0) y = static_cast<float>(std::expm1(double{x}));
  } else {
    const auto root = static_cast<float>(std::sqrt(0.5));
    const float bent = x + 0.044715F * x * x * x;
    const float gate =
        form->approximate
            ? static_cast<float>(std::tanh(
                  double{static_cast<float>(std::sqrt(2.0 / 3.14159265358979323846)) * bent}))
            : static_cast<float>(std::erf(double{x * root}));
    y = 0.5F * x * (1.0F + gate);
  }
  const float steps = y * (1.0F / out.scale());
  const auto zero_point = static_cast<float>(out.zero_point());
  const bool by_xnnpack = !form && rounding == Rounding::fp32;
  const float code =
      by_xnnpack ? std::nearbyint(steps + zero_point) : std::round(steps) + zero_point;
  return static_cast<std::int8_t>(std::clamp(code, -128.0F, 127.0F));
}

/// EXP, LOG or SQRT, of values that have one.
inline IntegerModel draw_function(Draw& draw, OpCode code) {
  const QuantParams in =
      quant(draw.uniform(0.004F, 0.05F), code == OpCode::sqrt ? -128 : draw.between(-128, 127));
  return function_model(code, in, quant(draw.uniform(0.01F, 0.1F), draw.between(-128, 127)));
}

/// In float32 steps, each from the nearest double; SQRT drops the fraction.
inline std::int8_t naive_function(std::int8_t q, const IntegerModel& model, OpCode code) {
  const QuantParams& in = model.tensors[0].quantization;
  const QuantParams& out = model.tensors[1].quantization;
  const float x = in.scale() * static_cast<float>(q - in.zero_point());
  float steps = 0;
  if (code == OpCode::exp) {
    steps = std::round(static_cast<float>(std::exp(double{x})) * (1.0F / out.scale()));
  } else if (code == OpCode::sqrt) {
    steps = std::trunc(std::sqrt(x) / out.scale());
  } else if (x > 0) {
    steps = std::round(static_cast<float>(std::log(double{x})) * (1.0F / out.scale()));
  } else {
    return -128;
  }
  return static_cast<std::int8_t>(
      std::clamp(steps + static_cast<float>(out.zero_point()), -128.0F, 127.0F));
}

// ---- HARD_SWISH

inline IntegerModel hard_swish_model(const QuantParams& in, const QuantParams& out) {
  RawModelBuilder b;
  b.model.inputs = {b.activation("x", {1, 256}, DType::int8, in)};
  b.model.outputs = {b.activation("y", {1, 256}, DType::int8, out)};
  b.op(OpCode::hard_swish, {0}, 1);
  return b.model;
}

inline IntegerModel draw_hard_swish(Draw& draw) {
  const QuantParams in = draw_grid(draw);
  return hard_swish_model(in,
                          quant(in.scale() * draw.uniform(0.1F, 2.0F), draw.between(-128, 127)));
}

/// In 16-bit numbers, of which a code has 7 more bits behind its point.
inline std::int8_t naive_hard_swish(std::int8_t code, oracle::Quant in, oracle::Quant out) {
  const auto short_of = [](std::int64_t x) { return std::clamp<std::int64_t>(x, -32768, 32767); };
  const auto half_up = [&](std::int64_t x) {
    return short_of(static_cast<std::int64_t>(std::floor(static_cast<double>(x) / 32768 + 0.5)));
  };
  const auto factor = [](float real) {
    oracle::Multiplier q = oracle::multiplier_of(double{real}, oracle::Contract::twice);
    q.m = std::min<std::int64_t>((q.m + 32768) / 65536, 32767);
    return q;
  };
  const float fine = in.scale * (1.0F / 128);
  const oracle::Multiplier of_output = factor(fine / out.scale);
  const oracle::Multiplier of_gate = factor(fine / (3.0F / 32768));
  const std::int64_t x = (std::int64_t{code} - in.zero_point) * 128;
  std::int64_t gate = x;
  if (of_gate.shift > 0) gate = short_of(gate * oracle::pow2(of_gate.shift - 1));
  gate = half_up(gate * of_gate.m);
  if (of_gate.shift > 0) gate = short_of(gate * 2);
  if (of_gate.shift < 0) gate = oracle::rdbypot(gate, -of_gate.shift);
  gate = (gate + 32768) / 2;
  const std::int64_t y =
      oracle::rdbypot(gate * half_up(x * of_output.m) / 32768, -of_output.shift) + out.zero_point;
  return static_cast<std::int8_t>(std::clamp<std::int64_t>(y, -128, 127));
}

inline std::vector<std::int8_t> every_code() {
  std::vector<std::int8_t> codes;
  for (int code = -128; code < 128; ++code) codes.push_back(static_cast<std::int8_t>(code));
  return codes;
}

// ---- SQUEEZE

/// The axes `dims`, or all of extent 1 where there are none, of `shape` go.
inline IntegerModel squeeze_model(const std::vector<std::int32_t>& shape,
                                  const std::vector<std::int32_t>& dims,
                                  const QuantParams& grid = quant(0.05F, 4)) {
  std::vector<std::int32_t> left;
  for (std::int32_t axis = 0; axis < std::ssize(shape); ++axis) {
    const auto rank = static_cast<std::int32_t>(shape.size());
    const bool named = std::ranges::count(dims, axis) + std::ranges::count(dims, axis - rank) > 0;
    const std::int32_t extent = shape[static_cast<std::size_t>(axis)];
    if (dims.empty() ? extent != 1 : !named) left.push_back(extent);
  }
  RawModelBuilder b;
  b.model.inputs = {b.add({"x", DType::int8, shape, {}, grid, {}})};
  b.model.outputs = {b.add({"y", DType::int8, left, {}, grid, {}})};
  b.op(OpCode::squeeze, {0}, 1, SqueezeAttributes{.squeeze_dims = dims});
  return b.model;
}

// ---- RESIZE_NEAREST_NEIGHBOR

struct Resize {
  std::vector<std::int32_t> image{1, 2, 3, 2};
  std::int32_t height = 4;
  std::int32_t width = 6;
  ResizeAttributes attributes{};
  QuantParams grid = quant(0.05F, 4);
  OpCode code = OpCode::resize_nearest_neighbor;
};

inline IntegerModel model_of(const Resize& r, DType dtype = DType::int8) {
  const QuantParams none{{}, {}, 0, 0, 0};
  const QuantParams grid = dtype == DType::int8    ? r.grid
                           : dtype == DType::int16 ? quant(r.grid.scale(), 0, dtype)
                                                   : none;
  RawModelBuilder b;
  b.model.inputs = {b.activation("x", r.image, dtype, grid)};
  b.constant("size", {2}, DType::int32, std::vector{r.height, r.width}, none);
  b.model.outputs = {b.activation("y", {r.image[0], r.height, r.width, r.image[3]}, dtype, grid)};
  b.op(r.code, {0, 1}, 2, r.attributes);
  for (const std::size_t i : {0U, 2U}) {
    ModelTensor& tensor = b.model.tensors[i];
    if (r.image[0] != 1) continue;
    tensor.shape_signature = tensor.shape;
    tensor.shape_signature[0] = -1;
  }
  return b.model;
}

/// By the real place of each pixel, in double: sizes up to a hundred have no near ties in float32
/// but those of whole numbers.
template <class T>
std::vector<T> naive_resize(const Resize& r, const std::vector<T>& x) {
  const auto source = [&](std::int32_t o, std::int32_t in, std::int32_t out) {
    if (r.attributes.align_corners && out > 1) {
      return static_cast<std::int32_t>((2LL * o * (in - 1) + out - 1) / (2LL * (out - 1)));
    }
    const std::int64_t twice = 2LL * o + (r.attributes.half_pixel_centers ? 1 : 0);
    return static_cast<std::int32_t>(std::min<std::int64_t>(twice * in / (2LL * out), in - 1));
  };
  std::vector<T> y;
  for (std::int32_t n = 0; n < r.image[0]; ++n) {
    for (std::int32_t oy = 0; oy < r.height; ++oy) {
      for (std::int32_t ox = 0; ox < r.width; ++ox) {
        const std::int32_t pixel =
            (n * r.image[1] + source(oy, r.image[1], r.height)) * r.image[2] +
            source(ox, r.image[2], r.width);
        for (std::int32_t c = 0; c < r.image[3]; ++c) {
          y.push_back(x[static_cast<std::size_t>(pixel) * static_cast<std::size_t>(r.image[3]) +
                        static_cast<std::size_t>(c)]);
        }
      }
    }
  }
  return y;
}

inline Resize draw_resize(Draw& draw) {
  Resize r;
  r.image = {draw.between(1, 2), draw.between(1, 6), draw.between(1, 6), draw.between(1, 5)};
  // Whole multiples, or one more than a power of 2 where corners are aligned: float32 tells both.
  const std::int32_t kind = draw.between(0, 3);
  r.height = r.image[1] * draw.between(1, 4);
  r.width = r.image[2] * draw.between(1, 4);
  r.attributes.half_pixel_centers = kind == 1;
  if (kind >= 2) {
    r.attributes.align_corners = kind == 2;
    r.height = (1 << draw.between(0, 3)) + (kind == 2 ? 1 : 0);
    r.width = (1 << draw.between(0, 3)) + (kind == 2 ? 1 : 0);
  }
  r.grid = draw_grid(draw);
  return r;
}

}  // namespace octet::test
