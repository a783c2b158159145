#pragma once

#include <octet/runtime/operators/definitions.h>
#include <octet/tests/runtime/window_models.h>

#include <cmath>
#include <tuple>

// Models on int16 codes with int8 weights and an int64 bias (16x8), and what contract q15 makes of
// their sums.

namespace octet::test {

/// A grid whose steps are 1/256 of those of an int8 one.
inline QuantParams as_int16(const QuantParams& grid) {
  return quant(grid.scale() / 256, 0, DType::int16);
}

/// A model of int8 codes with every code 8 bits finer, on grids with zero point 0. Operators
/// without a bias get one of zeros.
inline IntegerModel as_int16(IntegerModel model) {
  for (ModelTensor& tensor : model.tensors) {
    if (tensor.dtype != DType::int8 || tensor.is_constant()) continue;
    tensor.dtype = DType::int16;
    tensor.quantization = as_int16(tensor.quantization);
  }
  for (Operator& op : model.operators) {
    if (definition(op.code).multiply_adds == nullptr) continue;
    const ModelTensor weights = model.tensors[static_cast<std::size_t>(op.inputs[1])];
    const std::size_t axis = op.code == OpCode::depthwise_conv_2d ? 3 : 0;
    const std::int32_t units = weights.shape[axis];
    std::vector<std::int64_t> bias(static_cast<std::size_t>(units));
    if (op.inputs.size() > 2 && op.inputs[2] != -1) {
      std::vector<std::int32_t> of_int8(bias.size());
      const auto& data = model.tensors[static_cast<std::size_t>(op.inputs[2])].data;
      std::memcpy(of_int8.data(), data.data(), data.size());
      for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = std::int64_t{of_int8[i]} * 256;
    }
    ModelTensor added{"bias_of_int64", DType::int64, {units}, {}, weights.quantization, {}};
    added.quantization.quantized_dimension = 0;
    std::tie(added.quantization.qmin, added.quantization.qmax) = integer_limits(DType::int64);
    const float scale = model.tensors[static_cast<std::size_t>(op.inputs[0])].quantization.scale();
    for (float& of_unit : added.quantization.scales) of_unit *= scale;
    added.data = to_bytes(bias);
    op.inputs.resize(3);
    op.inputs[2] = static_cast<std::int32_t>(model.tensors.size());
    model.tensors.push_back(std::move(added));
  }
  model.metadata["octet.rounding"] = "q15";
  return model;
}

inline Conv as_int16(Conv c) {
  c.in = as_int16(c.in);
  c.out = as_int16(c.out);
  return c;
}

inline std::vector<std::int16_t> random_int16(std::size_t size, Draw& draw) {
  std::vector<std::int16_t> codes(size);
  for (std::int16_t& code : codes) code = static_cast<std::int16_t>(draw.between(-32768, 32767));
  // Both ends are there.
  if (!codes.empty()) codes.front() = -32768;
  if (size > 1) codes.back() = 32767;
  return codes;
}

/// acc * ratio under q15, before it is clamped: its definition in numbers that hold all of it.
inline double naive_q15(std::int64_t acc, double ratio) {
  int shift = 0;
  double m = std::round(std::frexp(ratio, &shift) * 2147483648.0);
  if (m == 2147483648.0) {
    m /= 2;
    ++shift;
  }
  if (shift < -31) return 0;
  const double reduced = m < 2147418112.0 ? std::floor((m + 32768.0) / 65536.0) : 32767.0;
  const long double sum = static_cast<long double>(acc) * reduced + std::ldexp(1.0L, 14 - shift);
  return static_cast<double>(std::floor(std::ldexp(sum, shift - 15)));
}

/// The code that an operator with `activation` gives, on a grid of `scale`.
inline std::int16_t naive_int16_code(double value, FusedActivation activation, float scale) {
  double lo = -32768;
  double hi = 32767;
  const RealLimits real = real_limits(activation);
  if (std::isfinite(real.lo)) lo = std::max(lo, std::round(double{real.lo / scale}));
  if (std::isfinite(real.hi)) hi = std::min(hi, std::round(double{real.hi / scale}));
  return static_cast<std::int16_t>(std::clamp(value, lo, hi));
}

/// What CONV_2D and DEPTHWISE_CONV_2D of as_int16(c) give, whose biases are 256 times those of c.
inline std::vector<std::int16_t> naive_int16(const Conv& c, const std::vector<std::int16_t>& x) {
  std::vector<std::int16_t> y;
  std::int64_t acc = 0;
  naive_conv(
      c,
      [&](std::int32_t u) {
        acc = c.bias.empty() ? 0 : std::int64_t{c.bias[static_cast<std::size_t>(u)]} * 256;
      },
      [&](std::size_t i, std::size_t k) { acc += std::int64_t{x[i]} * c.weights[k]; },
      [&](std::int32_t u) {
        const float w =
            c.weight_scales[c.weight_scales.size() > 1 ? static_cast<std::size_t>(u) : 0];
        const double ratio = double{c.in.scale()} * double{w} / double{c.out.scale()};
        y.push_back(
            naive_int16_code(naive_q15(acc, ratio), c.attributes.activation, c.out.scale()));
      });
  return y;
}

/// What FULLY_CONNECTED number `index` of a model on int16 codes gives.
inline std::vector<std::int16_t> naive_int16_dense(const IntegerModel& model, std::size_t index,
                                                   const std::vector<std::int16_t>& x) {
  const Operator& op = model.operators[index];
  const auto tensor = [&](std::int32_t i) -> const ModelTensor& {
    return model.tensors[static_cast<std::size_t>(i)];
  };
  const ModelTensor& weights = tensor(op.inputs[1]);
  const auto units = static_cast<std::size_t>(weights.shape[0]);
  const auto depth = static_cast<std::size_t>(weights.shape[1]);
  std::vector<std::int64_t> bias(units);
  std::memcpy(bias.data(), tensor(op.inputs[2]).data.data(), units * sizeof(std::int64_t));
  const float in = tensor(op.inputs[0]).quantization.scale();
  const float out = tensor(op.outputs[0]).quantization.scale();
  const auto& scales = weights.quantization.scales;
  std::vector<std::int16_t> y;
  for (std::size_t row = 0; row < x.size(); row += depth) {
    for (std::size_t u = 0; u < units; ++u) {
      std::int64_t acc = bias[u];
      for (std::size_t k = 0; k < depth; ++k) {
        acc += std::int64_t{x[row + k]} * static_cast<std::int8_t>(weights.data[u * depth + k]);
      }
      const float in_float = in * scales[0];
      const double product = scales.size() == 1 ? double{in_float} : double{in} * double{scales[u]};
      y.push_back(naive_int16_code(naive_q15(acc, product / double{out}), op.activation(), out));
    }
  }
  return y;
}

/// What make_mlp() gives with float ends, on int16 codes and without its softmax.
inline IntegerModel int16_mlp(IntegerModel mlp) {
  const auto softmax = mlp.operators.end() - 2;
  mlp.operators.back().inputs[0] = softmax->inputs[0];
  mlp.operators.erase(softmax);
  return as_int16(std::move(mlp));
}

/// Returns the model without its float ends.
inline IntegerModel int16_inner(IntegerModel model) {
  model.operators.erase(model.operators.begin());
  model.operators.pop_back();
  model.inputs = {model.operators.front().inputs[0]};
  model.outputs = {model.operators.back().outputs[0]};
  return model;
}

}  // namespace octet::test
