#pragma once

#include <octet/tests/runtime/naive_graph.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

// MUL, ADD and SUB with shapes that broadcast, SQUEEZE, HARD_SWISH and RESIZE_NEAREST_NEIGHBOR:
// models of one operator, and a second implementation from the formulas.

namespace octet::test {

// ---- Two operands

struct Pair {
  OpCode code = OpCode::mul;
  std::vector<std::int32_t> first{1, 2, 3};
  std::vector<std::int32_t> second{1, 2, 3};
  std::array<QuantParams, 3> grids = {quant(0.02F, 3), quant(0.03F, -5), quant(0.01F, 7)};
  FusedActivation activation = FusedActivation::none;
  /// Codes of the second operand where it is a constant; empty for an input.
  std::vector<std::int8_t> constant{};

  std::vector<std::int32_t> result() const {
    std::vector<std::int32_t> shape = first.size() >= second.size() ? first : second;
    const auto& other = first.size() >= second.size() ? second : first;
    for (std::size_t i = 0; i < other.size(); ++i) {
      std::int32_t& extent = shape[shape.size() - 1 - i];
      extent = std::max(extent, other[other.size() - 1 - i]);
    }
    return shape;
  }
};

/// Inputs of an unknown batch where `batched`.
inline IntegerModel model_of(const Pair& p, bool batched = false) {
  RawModelBuilder b;
  const auto value = [&](const char* name, const std::vector<std::int32_t>& shape,
                         const QuantParams& grid) {
    std::vector<std::int32_t> signature;
    if (batched) {
      signature = shape;
      signature[0] = -1;
    }
    return b.add({name, DType::int8, shape, signature, grid, {}});
  };
  const std::int32_t first = value("first", p.first, p.grids[0]);
  b.model.inputs = {first};
  std::int32_t second = 0;
  if (p.constant.empty()) {
    second = value("second", p.second, p.grids[1]);
    b.model.inputs.push_back(second);
  } else {
    second = b.constant("second", p.second, DType::int8, p.constant, p.grids[1]);
  }
  const std::int32_t y = value("y", p.result(), p.grids[2]);
  b.op(p.code, {first, second}, y);
  auto* attributes = std::get_if<BinaryAttributes>(&b.model.operators[0].attributes);
  if (attributes != nullptr) attributes->activation = p.activation;
  b.model.outputs = {y};
  return b.model;
}

inline std::int8_t naive_mul(std::int8_t a, oracle::Quant qa, std::int8_t b, oracle::Quant qb,
                             oracle::Quant out, oracle::Clamp clamp, Rounding rounding) {
  const std::int64_t product =
      (std::int64_t{a} - qa.zero_point) * (std::int64_t{b} - qb.zero_point);
  const float scales = qa.scale * qb.scale;
  const float ratio = scales / out.scale;
  const bool xnnpack = rounding == Rounding::fp32 && ratio >= 0x1p-16F && ratio < 0x1p8F;
  const double factor = rounding == Rounding::double_rounding
                            ? double{qa.scale} * double{qb.scale} / double{out.scale}
                            : double{ratio};
  const std::int64_t steps = oracle::rescale(
      product, factor, ratio, xnnpack ? oracle::Contract::fp32 : oracle::Contract::twice);
  const oracle::Limits limits =
      xnnpack ? oracle::limits_to_even(clamp, out) : oracle::limits_of(clamp, out);
  return static_cast<std::int8_t>(std::clamp(steps + out.zero_point, limits.lo, limits.hi));
}

/// Quantized values x of PRELU with slopes alpha.
inline std::int8_t naive_prelu(std::int8_t x, oracle::Quant qx, std::int8_t alpha, oracle::Quant qa,
                               oracle::Quant out, oracle::Clamp /*clamp*/, Rounding rounding) {
  const std::int64_t d = std::int64_t{x} - qx.zero_point;
  const bool in_double = rounding == Rounding::double_rounding;
  double factor = in_double ? double{qx.scale} / double{out.scale} : double{qx.scale / out.scale};
  if (d < 0) {
    const float product = qx.scale * qa.scale;
    factor = in_double ? double{qx.scale} * double{qa.scale} / double{out.scale}
                       : double{product / out.scale};
  }
  const std::int64_t product = d < 0 ? d * (std::int64_t{alpha} - qa.zero_point) : d;
  const std::int64_t steps = oracle::rescale(product, factor, 0.0F, oracle::Contract::twice);
  return static_cast<std::int8_t>(std::clamp<std::int64_t>(steps + out.zero_point, -128, 127));
}

/// MAXIMUM and MINIMUM of integers with one scale and zero point.
inline std::int8_t naive_maximum(std::int8_t a, oracle::Quant /*qa*/, std::int8_t b,
                                 oracle::Quant /*qb*/, oracle::Quant /*out*/,
                                 oracle::Clamp /*clamp*/, Rounding /*rounding*/) {
  return a < b ? b : a;
}
inline std::int8_t naive_minimum(std::int8_t a, oracle::Quant /*qa*/, std::int8_t b,
                                 oracle::Quant /*qb*/, oracle::Quant /*out*/,
                                 oracle::Clamp /*clamp*/, Rounding /*rounding*/) {
  return b < a ? b : a;
}

/// Element `i` of `shape`, in an operand whose extents of 1 are repeated.
inline std::size_t broadcast_index(std::size_t i, const std::vector<std::int32_t>& shape,
                                   const std::vector<std::int32_t>& operand) {
  std::size_t from = 0;
  std::size_t stride = 1;
  for (std::size_t k = 0; k < operand.size(); ++k) {
    const auto extent = static_cast<std::size_t>(shape[shape.size() - 1 - k]);
    const auto mine = static_cast<std::size_t>(operand[operand.size() - 1 - k]);
    if (mine != 1) from += i % extent * stride;
    i /= extent;
    stride *= mine;
  }
  return from;
}

inline std::vector<std::int8_t> naive_pair(const Pair& p, const std::vector<std::int8_t>& first,
                                           const std::vector<std::int8_t>& second,
                                           Rounding rounding) {
  const auto shape = p.result();
  std::size_t size = 1;
  for (const std::int32_t extent : shape) size *= static_cast<std::size_t>(extent);
  const auto grid = [&](std::size_t i) {
    return oracle::Quant{p.grids[i].scale(), p.grids[i].zero_point()};
  };
  std::vector<std::int8_t> y;
  for (std::size_t i = 0; i < size; ++i) {
    const std::int8_t a = first[broadcast_index(i, shape, p.first)];
    const std::int8_t b = second[broadcast_index(i, shape, p.second)];
    const auto f = p.code == OpCode::add       ? naive_add
                   : p.code == OpCode::sub     ? naive_sub
                   : p.code == OpCode::prelu   ? naive_prelu
                   : p.code == OpCode::maximum ? naive_maximum
                   : p.code == OpCode::minimum ? naive_minimum
                                               : naive_mul;
    y.push_back(f(a, grid(0), b, grid(1), grid(2), oracle_clamp(p.activation), rounding));
  }
  return y;
}

/// Shapes of one to four axes that broadcast, or of five that are equal; the first one of extent 1,
/// for a batch, where `batched`.
inline Pair draw_pair(Draw& draw, bool batched = false) {
  Pair p;
  constexpr std::array kCodes = {OpCode::add, OpCode::sub, OpCode::mul, OpCode::mul};
  p.code = kCodes[static_cast<std::size_t>(draw.between(0, 3))];
  p.first.clear();
  p.second.clear();
  const std::int32_t rank = draw.between(1, 5);
  const bool equal = rank == 5 || draw.between(0, 2) == 0;
  for (std::int32_t i = 0; i < rank; ++i) {
    const bool is_batch = batched && i == 0;
    const std::int32_t extent = is_batch        ? 1
                                : i + 1 == rank ? draw.between(1, 300)
                                                : draw.between(1, 4);
    const std::int32_t who = equal ? 0 : draw.between(0, 3);
    p.first.push_back(who == 1 ? 1 : extent);
    p.second.push_back(who == 2 ? 1 : extent);
  }
  p.grids = {draw_grid(draw), draw_grid(draw), draw_grid(draw)};
  if (p.code == OpCode::mul) {
    // Products of codes that are mostly small beside the range of the output.
    const float scales = p.grids[0].scale() * p.grids[1].scale();
    p.grids[2] = quant(scales * std::pow(2.0F, draw.uniform(-1, 8)), draw.between(-128, 127));
    if (draw.between(0, 7) == 0) p.grids[2].scales = {scales * 0x1p17F};
  }
  p.activation = static_cast<FusedActivation>(draw.between(0, 3));
  return p;
}

/// Draws a pair whose second operand is a constant: a network of one input.
inline IntegerModel draw_constant_pair(Draw& draw, bool batched = false) {
  Pair p = draw_pair(draw, batched);
  std::size_t size = 1;
  for (const std::int32_t extent : p.second) size *= static_cast<std::size_t>(extent);
  p.constant = random_codes(size, draw);
  return model_of(p, batched);
}

/// Slopes that are repeated over any axes of the input, or have fewer axes.
inline Pair draw_prelu(Draw& draw, bool batched = false) {
  Pair p = draw_pair(draw, batched);
  p.code = OpCode::prelu;
  p.first = p.result();
  if (p.second.size() < 5 && draw.between(0, 1) == 0) {
    p.second = {p.first.back()};
  }
  p.activation = FusedActivation::none;
  std::size_t size = 1;
  for (const std::int32_t extent : p.second) size *= static_cast<std::size_t>(extent);
  p.constant = random_codes(size, draw);
  p.grids[1] = quant(draw.uniform(0.002F, 0.02F), draw.between(-128, 127));
  p.grids[2] = quant(p.grids[0].scale() * draw.uniform(0.3F, 2.0F), draw.between(-128, 127));
  return p;
}

/// `p` as a MAXIMUM or MINIMUM.
inline Pair extreme_pair(OpCode code, Pair p = {}) {
  p.code = code;
  p.activation = FusedActivation::none;
  p.grids.fill(p.grids[0]);
  return p;
}

inline Pair draw_extreme(Draw& draw, bool batched = false) {
  const OpCode code = draw.between(0, 1) == 0 ? OpCode::maximum : OpCode::minimum;
  return extreme_pair(code, draw_pair(draw, batched));
}

// ---- ELU, GELU and RSQRT

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
  ResizeNearestNeighborAttributes attributes{};
  QuantParams grid = quant(0.05F, 4);
};

inline IntegerModel model_of(const Resize& r, DType dtype = DType::int8) {
  const QuantParams none{{}, {}, 0, 0, 0};
  const QuantParams grid = dtype == DType::int8 ? r.grid : none;
  RawModelBuilder b;
  b.model.inputs = {b.activation("x", r.image, dtype, grid)};
  b.constant("size", {2}, DType::int32, std::vector{r.height, r.width}, none);
  b.model.outputs = {b.activation("y", {r.image[0], r.height, r.width, r.image[3]}, dtype, grid)};
  b.op(OpCode::resize_nearest_neighbor, {0, 1}, 2, r.attributes);
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
