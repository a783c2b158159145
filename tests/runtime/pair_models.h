#pragma once

#include <octet/tests/runtime/naive_graph.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

// MUL, ADD, SUB, PRELU, MAXIMUM and MINIMUM with shapes that broadcast: models of one operator, and
// a second implementation from the formulas.

namespace octet::test {

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
    // Products of quantized values that are mostly small beside the range of the output.
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

}  // namespace octet::test
