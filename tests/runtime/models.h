#pragma once

#include <octet/runtime/integer_model.h>
#include <octet/tests/core/draw.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace octet::test {

template <class T>
std::vector<std::uint8_t> to_bytes(const std::vector<T>& values) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

inline QuantParams quant(float scale, std::int32_t zero_point, DType dtype = DType::int8) {
  const auto [lo, hi] = integer_limits(dtype);
  return QuantParams::per_tensor(scale, zero_point, lo, hi);
}

/// Builds models tensor by tensor; each add_* returns the index of the new tensor.
class RawModelBuilder {
 public:
  std::int32_t add(ModelTensor tensor) {
    model.tensors.push_back(std::move(tensor));
    return static_cast<std::int32_t>(model.tensors.size() - 1);
  }

  std::int32_t activation(std::string name, std::vector<std::int32_t> shape, DType dtype,
                          QuantParams quantization = {}) {
    ModelTensor tensor{std::move(name), dtype, std::move(shape), {}, std::move(quantization), {}};
    if (tensor.shape.size() == 2) tensor.shape_signature = {-1, tensor.shape[1]};
    return add(std::move(tensor));
  }

  template <class T>
  std::int32_t constant(std::string name, std::vector<std::int32_t> shape, DType dtype,
                        const std::vector<T>& values, QuantParams quantization = {}) {
    return add(
        {std::move(name), dtype, std::move(shape), {}, std::move(quantization), to_bytes(values)});
  }

  Operator& op(OpCode code, std::vector<std::int32_t> inputs, std::int32_t output,
               OperatorAttributes attributes) {
    model.operators.push_back({.code = code,
                               .inputs = std::move(inputs),
                               .outputs = {output},
                               .attributes = std::move(attributes)});
    return model.operators.back();
  }
  Operator& op(OpCode code, std::vector<std::int32_t> inputs, std::int32_t output) {
    return op(code, std::move(inputs), output, default_attributes(code));
  }

  IntegerModel model;
};

/// A layer of int8 FULLY_CONNECTED, with everything that the interpreter has to get right.
struct DenseSpec {
  std::int32_t units = 3;
  bool per_channel = false;
  std::int32_t weight_zero_point = 0;
  bool bias = true;
  FusedActivation activation = FusedActivation::none;
  float output_scale = 0.1F;
  std::int32_t output_zero_point = 0;
};

/// Adds the layer behind tensor `x` of shape [rows, inputs] and returns its output's index.
inline std::int32_t add_dense(RawModelBuilder& builder, std::int32_t x, const DenseSpec& spec,
                              Draw& draw) {
  const ModelTensor input = builder.model.tensors[static_cast<std::size_t>(x)];
  const std::int32_t depth = input.shape.back();
  const std::string name = "dense_" + std::to_string(builder.model.operators.size());
  QuantParams weights;
  std::vector<float> bias_scales;
  for (std::int32_t i = 0; i < (spec.per_channel ? spec.units : 1); ++i) {
    weights.scales.push_back(draw.uniform(0.002F, 0.02F));
    weights.zero_points.push_back(spec.weight_zero_point);
    bias_scales.push_back(input.quantization.scale() * weights.scales.back());
  }
  std::vector<std::int8_t> codes;
  codes.reserve(static_cast<std::size_t>(spec.units) * static_cast<std::size_t>(depth));
  for (std::int32_t i = 0; i < spec.units * depth; ++i) {
    codes.push_back(static_cast<std::int8_t>(draw.between(-127, 127)));
  }
  std::vector<std::int32_t> bias;
  bias.reserve(static_cast<std::size_t>(spec.units));
  for (std::int32_t i = 0; i < spec.units; ++i) bias.push_back(draw.between(-3000, 3000));

  std::vector<std::int32_t> operands{
      x, builder.constant(name + "/kernel", {spec.units, depth}, DType::int8, codes, weights)};
  if (spec.bias) {
    const auto [lo, hi] = integer_limits(DType::int32);
    const QuantParams params{bias_scales, std::vector<std::int32_t>(bias_scales.size()), 0, lo, hi};
    operands.push_back(builder.constant(name + "/bias", {spec.units}, DType::int32, bias, params));
  }
  const std::int32_t y =
      builder.activation(name, {static_cast<std::int32_t>(input.size()) / depth, spec.units},
                         DType::int8, quant(spec.output_scale, spec.output_zero_point));
  builder.op(OpCode::fully_connected, operands, y,
             FullyConnectedAttributes{.activation = spec.activation});
  return y;
}

/// The kind of model that training exports: QUANTIZE, dense layers, SOFTMAX, DEQUANTIZE, or without
/// the float ends.
inline IntegerModel make_mlp(std::uint64_t seed, const std::vector<std::int32_t>& sizes,
                             bool per_channel, bool float_ends) {
  Draw draw(seed);
  RawModelBuilder b;
  const QuantParams input = quant(1.0F / 255, -128);
  std::int32_t x =
      b.activation(float_ends ? "input" : "input_1", {1, sizes[0]},
                   float_ends ? DType::float32 : DType::int8, float_ends ? QuantParams{} : input);
  b.model.inputs = {x};
  if (float_ends) {
    const std::int32_t q = b.activation("input_q", {1, sizes[0]}, DType::int8, input);
    b.op(OpCode::quantize, {x}, q);
    x = q;
  }
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    DenseSpec spec;
    spec.units = sizes[i];
    spec.per_channel = per_channel;
    const bool last = i + 1 == sizes.size();
    spec.activation = last ? FusedActivation::none : FusedActivation::relu;
    spec.output_scale = draw.uniform(0.02F, 0.08F);
    spec.output_zero_point = last ? draw.between(-20, 20) : -128;
    x = add_dense(b, x, spec, draw);
  }
  const std::int32_t p =
      b.activation("softmax", {1, sizes.back()}, DType::int8, quant(1.0F / 256, -128));
  b.op(OpCode::softmax, {x}, p);
  b.model.outputs = {p};
  if (float_ends) {
    const std::int32_t y = b.activation("output", {1, sizes.back()}, DType::float32);
    b.op(OpCode::dequantize, {p}, y);
    b.model.outputs = {y};
  }
  b.model.metadata["octet.rounding"] = "fp32";
  return b.model;
}

/// One operator on one tensor.
inline IntegerModel make_unary(OpCode code, const ModelTensor& input, const ModelTensor& output) {
  RawModelBuilder b;
  b.model.inputs = {b.add(input)};
  b.model.outputs = {b.add(output)};
  b.op(code, {0}, 1);
  return b.model;
}

}  // namespace octet::test
