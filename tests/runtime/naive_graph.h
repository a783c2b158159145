#pragma once

#include <octet/tests/runtime/naive.h>

#include <cmath>
#include <cstdint>
#include <vector>

// Graphs of int8 FULLY_CONNECTED, ADD and CONCATENATION, computed value by value with memory of its
// own for each: an oracle for whoever runs them in less.

namespace octet::test {

/// One ADD, or SUB where `sign` is -1, from the formulas: XNNPACK's where the contract is fp32 and
/// both scales are near the output's, else TensorFlow Lite's own, or TFLite Micro's, which divides
/// the scales of a SUB in float32.
inline std::int8_t naive_sum(std::int8_t a, oracle::Quant qa, std::int8_t b, oracle::Quant qb,
                             oracle::Quant out, oracle::Clamp clamp, Rounding rounding, int sign) {
  const float ra = qa.scale / out.scale;
  const float rb = qb.scale / out.scale;
  const auto near = [](float r) { return r >= 1.0F / 1024 && r < 256; };
  const std::int64_t da = a - qa.zero_point;
  const std::int64_t db = b - qb.zero_point;
  double steps = 0;
  oracle::Limits limits = oracle::limits_of(clamp, out);
  if (rounding == Rounding::fp32 && near(ra) && near(rb)) {
    int exponent = 0;
    std::frexp(std::max(ra, rb), &exponent);
    const int shift = 21 - exponent;
    const auto whole = [&](float r) { return std::nearbyint(std::ldexp(double{r}, shift)); };
    const double sum =
        static_cast<double>(da) * whole(ra) + static_cast<double>(sign * db) * whole(rb);
    steps = std::floor(std::ldexp(sum, -shift) + 0.5);
    limits = oracle::limits_to_even(clamp, out);
  } else {
    const double twice = 2.0 * double{std::max(qa.scale, qb.scale)};
    const auto rescaled = [](std::int64_t x, double factor) {
      return oracle::rescale(x, oracle::multiplier_of(factor, oracle::Contract::twice),
                             oracle::Contract::twice);
    };
    const auto quotient = [&](double x, double y) {
      const bool in_floats = sign == -1 && rounding == Rounding::double_rounding;
      return in_floats ? double{static_cast<float>(x) / static_cast<float>(y)} : x / y;
    };
    const std::int64_t sum = rescaled(da * 1048576, quotient(double{qa.scale}, twice)) +
                             sign * rescaled(db * 1048576, quotient(double{qb.scale}, twice));
    steps = static_cast<double>(rescaled(sum, quotient(twice, 1048576.0 * double{out.scale})));
  }
  const auto code = static_cast<std::int64_t>(steps) + out.zero_point;
  return static_cast<std::int8_t>(std::clamp(code, limits.lo, limits.hi));
}

inline std::int8_t naive_add(std::int8_t a, oracle::Quant qa, std::int8_t b, oracle::Quant qb,
                             oracle::Quant out, oracle::Clamp clamp, Rounding rounding) {
  return naive_sum(a, qa, b, qb, out, clamp, rounding, 1);
}

inline std::int8_t naive_sub(std::int8_t a, oracle::Quant qa, std::int8_t b, oracle::Quant qb,
                             oracle::Quant out, oracle::Clamp clamp, Rounding rounding) {
  return naive_sum(a, qa, b, qb, out, clamp, rounding, -1);
}

/// Codes along the last axis but for `axis`, by index arithmetic on every element.
inline std::vector<std::int8_t> naive_concatenation(const IntegerModel& model, const Operator& op,
                                                    const std::vector<const std::int8_t*>& inputs) {
  const auto tensor = [&](std::int32_t i) -> const ModelTensor& {
    return model.tensors[static_cast<std::size_t>(i)];
  };
  const auto& shape = tensor(op.outputs[0]).shape;
  const std::int32_t wanted = op.as<ConcatenationAttributes>().axis;
  const auto axis =
      static_cast<std::size_t>(wanted < 0 ? wanted + static_cast<int>(shape.size()) : wanted);
  std::vector<std::int8_t> y(static_cast<std::size_t>(tensor(op.outputs[0]).size()));
  for (std::size_t i = 0; i < y.size(); ++i) {
    std::vector<std::size_t> index(shape.size());
    std::size_t rest = i;
    for (std::size_t k = shape.size(); k-- > 0;) {
      index[k] = rest % static_cast<std::size_t>(shape[k]);
      rest /= static_cast<std::size_t>(shape[k]);
    }
    std::size_t from = 0;
    while (index[axis] >= static_cast<std::size_t>(tensor(op.inputs[from]).shape[axis])) {
      index[axis] -= static_cast<std::size_t>(tensor(op.inputs[from++]).shape[axis]);
    }
    std::size_t at = 0;
    for (std::size_t k = 0; k < shape.size(); ++k) {
      at = at * static_cast<std::size_t>(tensor(op.inputs[from]).shape[k]) + index[k];
    }
    y[i] = inputs[from][at];
  }
  return y;
}

/// The codes of every tensor, for one sample; `inputs` are those of the model's inputs.
inline std::vector<std::vector<std::int8_t>> naive_run(
    const IntegerModel& model, const std::vector<std::vector<std::int8_t>>& inputs,
    Rounding rounding) {
  std::vector<std::vector<std::int8_t>> values(model.tensors.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& data = model.tensors[i].data;
    if (model.tensors[i].dtype == DType::int8) values[i].assign(data.begin(), data.end());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values[static_cast<std::size_t>(model.inputs[i])] = inputs[i];
  }
  for (std::size_t i = 0; i < model.operators.size(); ++i) {
    const Operator& op = model.operators[i];
    const auto at = [&](std::size_t k) { return static_cast<std::size_t>(op.inputs[k]); };
    auto& y = values[static_cast<std::size_t>(op.outputs[0])];
    switch (op.code) {
      case OpCode::fully_connected:
        y = naive_dense(model, i, values[at(0)], rounding);
        break;
      case OpCode::add: {
        const ModelTensor& out = model.tensors[static_cast<std::size_t>(op.outputs[0])];
        for (std::size_t k = 0; k < values[at(0)].size(); ++k) {
          y.push_back(naive_add(values[at(0)][k], oracle_quant(model.tensors[at(0)]),
                                values[at(1)][k], oracle_quant(model.tensors[at(1)]),
                                oracle_quant(out), oracle_clamp(op.activation()), rounding));
        }
        break;
      }
      case OpCode::concatenation: {
        std::vector<const std::int8_t*> from;
        for (std::size_t k = 0; k < op.inputs.size(); ++k) from.push_back(values[at(k)].data());
        y = naive_concatenation(model, op, from);
        break;
      }
      default:
        throw std::runtime_error("naive_run: " + std::string(to_string(op.code)));
    }
  }
  return values;
}

/// Adds y = f(a + b) behind two tensors of one shape.
inline std::int32_t add_add(RawModelBuilder& b, std::int32_t first, std::int32_t second,
                            QuantParams grid, FusedActivation activation = FusedActivation::none) {
  const auto shape = b.model.tensors[static_cast<std::size_t>(first)].shape;
  const std::int32_t y = b.activation("add_" + std::to_string(b.model.operators.size()), shape,
                                      DType::int8, std::move(grid));
  b.op(OpCode::add, {first, second}, y, BinaryAttributes{.activation = activation});
  return y;
}

/// Adds a CONCATENATION of matrices along their columns; all have the first one's grid.
inline std::int32_t add_concatenation(RawModelBuilder& b, std::vector<std::int32_t> inputs) {
  const ModelTensor first = b.model.tensors[static_cast<std::size_t>(inputs[0])];
  std::vector<std::int32_t> shape = first.shape;
  shape.back() = 0;
  for (const std::int32_t i : inputs) {
    shape.back() += b.model.tensors[static_cast<std::size_t>(i)].shape.back();
  }
  const std::int32_t y = b.activation("concat_" + std::to_string(b.model.operators.size()), shape,
                                      DType::int8, first.quantization);
  b.op(OpCode::concatenation, std::move(inputs), y, ConcatenationAttributes{.axis = -1});
  return y;
}

inline QuantParams draw_grid(Draw& draw) {
  return quant(draw.uniform(0.02F, 0.2F), draw.between(-128, 127));
}

/// A graph with forks of 3 to 10 steps (FULLY_CONNECTED, ADD, or two branches that CONCATENATION
/// puts together), in which every value is read or put out. All but the last of its values may be
/// read several times; concatenated values are on one grid.
inline IntegerModel draw_graph(std::uint64_t seed, bool several_inputs, bool per_channel = true) {
  Draw draw(seed);
  RawModelBuilder b;
  const std::int32_t width = draw.between(1, 37);
  const QuantParams shared = draw_grid(draw);
  std::vector<std::int32_t> values;
  values.reserve(3);
  for (int i = 0; i < (several_inputs ? 3 : 1); ++i) {
    values.push_back(
        b.activation("input_" + std::to_string(i), {1, width}, DType::int8, draw_grid(draw)));
  }
  b.model.inputs = values;
  std::vector<int> readers(values.size());
  const auto pick = [&] {
    // Mostly young values, so that old ones live long only now and then; unread ones first.
    const auto i = static_cast<std::size_t>(draw.between(
        draw.between(0, 3) == 0 ? 0 : std::max<int>(0, static_cast<int>(values.size()) - 3),
        static_cast<int>(values.size()) - 1));
    ++readers[i];
    return values[i];
  };
  const auto keep = [&](std::int32_t y) {
    values.push_back(y);
    readers.push_back(0);
  };
  const auto make_dense = [&](std::int32_t x, std::int32_t units, const QuantParams& out) {
    DenseSpec spec;
    spec.units = units;
    spec.per_channel = draw.between(0, 1) == 1 && per_channel;
    spec.activation = static_cast<FusedActivation>(draw.between(0, 3));
    spec.output_scale = out.scale();
    spec.output_zero_point = out.zero_point();
    return add_dense(b, x, spec, draw);
  };
  for (int i = draw.between(3, 10); i > 0; --i) {
    const int kind = draw.between(0, 4);
    if (kind <= 1) {
      keep(make_dense(pick(), width, draw_grid(draw)));
    } else if (kind <= 3) {
      const std::int32_t first = pick();
      keep(add_add(b, first, pick(), draw_grid(draw),
                   static_cast<FusedActivation>(draw.between(0, 3))));
    } else {
      // Two branches on one grid, put together and brought back to the width.
      const std::int32_t left = make_dense(pick(), draw.between(1, 20), shared);
      const std::int32_t right = make_dense(pick(), draw.between(1, 20), shared);
      keep(make_dense(add_concatenation(b, {left, right, left}), width, draw_grid(draw)));
    }
  }
  // What nobody reads is added up to the output.
  std::int32_t y = values.back();
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    if (readers[i] == 0) y = add_add(b, values[i], y, draw_grid(draw));
  }
  b.model.outputs = {y};
  return b.model;
}

/// Operators on single codes between grids whose ratios are up to 1000 and down to 1/1000: some fit
/// the eight bits of XNNPACK's factors, some do not.
inline IntegerModel draw_rescaling_chain(std::uint64_t seed) {
  Draw draw(seed);
  RawModelBuilder b;
  const auto next_grid = [&](float scale) {
    // Mostly within the eight bits, and such that not all codes saturate.
    const float most = draw.between(0, 4) == 0 ? 1000.0F : 4.0F;
    const float exponent = draw.uniform(-1, 1);
    return quant(std::clamp(scale * std::pow(most, exponent), 1e-6F, 1e6F),
                 draw.between(-128, 127));
  };
  std::int32_t x = b.activation("x", {1, 64}, DType::int8, draw_grid(draw));
  b.model.inputs = {x};
  for (int i = draw.between(2, 5); i > 0; --i) {
    const float scale = b.model.tensors.back().quantization.scale();
    const std::string name = "code_" + std::to_string(i);
    const std::int32_t y = b.activation(name, {1, 64}, DType::int8, next_grid(scale));
    if (draw.between(0, 1) == 0) {
      b.op(OpCode::quantize, {x}, y);
    } else {
      const float alpha = std::pow(10.0F, draw.uniform(-3, 0.5F));
      b.op(OpCode::leaky_relu, {x}, y, LeakyReluAttributes{.alpha = alpha});
    }
    x = y;
  }
  b.model.outputs = {x};
  return b.model;
}

/// CONCATENATION along axes in front of which there are others, the last one and one before it.
inline IntegerModel make_axes() {
  Draw draw(6);
  RawModelBuilder b;
  const QuantParams grid = quant(0.05F, 4);
  const std::int32_t x = b.activation("x", {1, 2, 3, 4}, DType::int8, grid);
  b.model.inputs = {x};
  const std::int32_t c = b.constant("c", {1, 2, 2, 4}, DType::int8, random_codes(16, draw), grid);
  const std::int32_t inner = b.activation("inner", {1, 2, 5, 4}, DType::int8, grid);
  b.op(OpCode::concatenation, {x, c}, inner, ConcatenationAttributes{.axis = 2});
  const std::int32_t last = b.activation("last", {1, 2, 5, 8}, DType::int8, grid);
  b.op(OpCode::concatenation, {inner, inner}, last, ConcatenationAttributes{.axis = -1});
  const std::int32_t outer = b.activation("outer", {1, 6, 5, 8}, DType::int8, grid);
  b.op(OpCode::concatenation, {last, last, last}, outer, ConcatenationAttributes{.axis = 1});
  b.model.outputs = {outer};
  return b.model;
}

/// x + x + c with scales a thousand times apart, where XNNPACK leaves ADD to another kernel.
inline IntegerModel make_far_scales() {
  Draw draw(3);
  RawModelBuilder b;
  const std::int32_t x = b.activation("x", {1, 40}, DType::int8, quant(0.5F, 4));
  b.model.inputs = {x};
  const std::int32_t c =
      b.constant("c", {1, 40}, DType::int8, random_codes(40, draw), quant(1e-4F, -9));
  const std::int32_t near = add_add(b, x, x, quant(0.9F, -20));
  const std::int32_t far = add_add(b, near, c, quant(0.7F, 3), FusedActivation::relu6);
  b.model.outputs = {add_add(b, c, far, quant(0.6F, 30))};
  return b.model;
}

}  // namespace octet::test
