#include <octet/core/quant/activation_range.h>
#include <octet/core/quant/quantize.h>
#include <octet/core/quant/requantize.h>
#include <octet/core/quant/softmax.h>
#include <octet/runtime/operators/quantization.h>
#include <octet/tests/core/quant/tensorflow/reference.h>
#include <octet/tests/core/quant/vector_ops.h>

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

namespace octet::test {
namespace {

using detail::ElementRequantizer;

FusedActivation activation_named(const std::string& name) {
  for (const FusedActivation activation :
       {FusedActivation::relu, FusedActivation::relu6, FusedActivation::relu_n1_to_1}) {
    if (name == to_string(activation)) {
      return activation;
    }
  }
  EXPECT_EQ(name, "none");
  return FusedActivation::none;
}

// Codes against expected.data or, where upstream compares reals, expected.dequantized.
void expect_codes(const std::vector<std::int8_t>& got, const Vector& v) {
  if (v.expected.contains("data")) {
    expect_close(got, v.expected.at("data"), v);
    return;
  }
  const float scale = v.params.at("output_scale");
  const std::int32_t zero_point = v.params.at("output_zero_point");
  std::vector<float> real(got.size());
  dequantize(got, QuantParams::per_tensor(scale, zero_point), real);
  expect_close(std::span<const float>(real), v.expected.at("dequantized"), v);
}

void run_fully_connected(const Vector& v) {
  const std::vector<std::int32_t> x = integers<std::int32_t>(v.input.at("x").at("data"));
  const std::vector<std::int32_t> w = integers<std::int32_t>(v.input.at("weights").at("data"));
  const std::vector<std::int32_t> bias = integers<std::int32_t>(v.input.at("bias").at("data"));
  const std::vector<float> w_scales = floats(v.params.at("weight_scales"));
  const float x_scale = v.params.at("input_scale");
  const float y_scale = v.params.at("output_scale");
  const std::int32_t x_zero = v.params.at("input_zero_point");
  const std::int32_t w_zero = v.params.at("weight_zero_point");
  const std::int32_t y_zero = v.params.at("output_zero_point");
  const ActivationRange limits =
      activation_range(activation_named(v.params.at("activation")), y_scale, y_zero, -128, 127);
  const Requantizer requantizer =
      Requantizer::fully_connected(x_scale, w_scales, y_scale, Rounding::double_rounding);
  const std::size_t units = bias.size();
  const std::size_t inputs = w.size() / units;
  std::vector<std::int8_t> got;
  for (std::size_t row = 0; row < x.size() / inputs; ++row) {
    for (std::size_t u = 0; u < units; ++u) {
      std::int32_t acc = bias[u];
      for (std::size_t i = 0; i < inputs; ++i) {
        acc += (x[row * inputs + i] - x_zero) * (w[u * inputs + i] - w_zero);
      }
      const std::int32_t scaled =
          v.integer_rule == "tflm"
              ? requantizer.apply(acc, u)
              : requantize_reference(acc, x_scale, w_scales[w_scales.size() == 1 ? 0 : u], y_scale);
      got.push_back(static_cast<std::int8_t>(std::clamp(scaled + y_zero, limits.lo, limits.hi)));
    }
  }
  expect_codes(got, v);
}

void run_softmax(const Vector& v) {
  const std::vector<std::int8_t> x = integers<std::int8_t>(v.input.at("x").at("data"));
  const auto depth = static_cast<std::size_t>(shape_of(v.input.at("x")).back());
  ASSERT_EQ(v.params.at("output_scale").get<float>(), SoftmaxInt8::kOutputScale);
  ASSERT_EQ(v.params.at("output_zero_point"), SoftmaxInt8::kOutputZeroPoint);
  std::vector<std::int8_t> first;
  for (const Rounding rounding :
       {Rounding::double_rounding, Rounding::single_rounding, Rounding::fp32}) {
    const SoftmaxInt8 softmax =
        SoftmaxInt8::make(v.params.at("input_scale"), v.params.at("beta"), rounding);
    std::vector<std::int8_t> got(x.size());
    for (std::size_t start = 0; start < x.size(); start += depth) {
      softmax.run(std::span(x).subspan(start, depth), std::span(got).subspan(start, depth));
    }
    expect_codes(got, v);
    first = first.empty() ? got : first;
    EXPECT_EQ(got, first) << "the contracts agree on every upstream row";
  }
}

QuantParams params_of(const Vector& v, const std::string& side, std::int32_t qmin,
                      std::int32_t qmax) {
  return QuantParams::per_tensor(v.params.at(side + "_scale"), v.params.at(side + "_zero_point"),
                                 qmin, qmax);
}

void run_activation(const Vector& v) {
  const QuantParams in = params_of(v, "input", -128, 127);
  const QuantParams out = params_of(v, "output", -128, 127);
  const ElementRequantizer op = ElementRequantizer::activation(activation_named(v.op), in, out);
  const std::vector<std::int8_t> x = integers<std::int8_t>(v.input.at("x").at("data"));
  std::vector<std::int8_t> got(x.size());
  op.run<std::int8_t, std::int8_t>(x, got);
  expect_codes(got, v);
}

template <typename In, typename Out>
void requantize_as(const Vector& v) {
  const QuantParams in =
      params_of(v, "input", std::numeric_limits<In>::min(), std::numeric_limits<In>::max());
  const QuantParams out =
      params_of(v, "output", std::numeric_limits<Out>::min(), std::numeric_limits<Out>::max());
  const std::vector<In> x = integers<In>(v.input.at("data"));
  std::vector<Out> got(x.size());
  ElementRequantizer::quantize(in, out).template run<In, Out>(x, got);
  expect_close(got, v.expected.at("data"), v);
}

template <typename In>
void requantize_from(const Vector& v) {
  const std::string type = v.params.at("output_type");
  if (type == "int8") {
    requantize_as<In, std::int8_t>(v);
  } else if (type == "uint8") {
    requantize_as<In, std::uint8_t>(v);
  } else if (type == "int16") {
    requantize_as<In, std::int16_t>(v);
  } else {
    ASSERT_EQ(type, "int32");
    requantize_as<In, std::int32_t>(v);
  }
}

void run_requantize(const Vector& v) {
  const std::string type = v.params.at("input_type");
  if (type == "int8") {
    requantize_from<std::int8_t>(v);
  } else if (type == "uint8") {
    requantize_from<std::uint8_t>(v);
  } else if (type == "int16") {
    requantize_from<std::int16_t>(v);
  } else {
    ASSERT_EQ(type, "int32");
    requantize_from<std::int32_t>(v);
  }
}

template <typename T>
QuantParams channel_params(const Vector& v) {
  return {floats(v.params.at("scales")), integers<std::int32_t>(v.params.at("zero_points")),
          v.params.at("quantized_dimension"), std::numeric_limits<T>::min(),
          std::numeric_limits<T>::max()};
}

template <typename T>
void quantize_as(const Vector& v) {
  const std::vector<float> x = floats(v.input.at("data"));
  std::vector<T> got(x.size());
  quantize(x, shape_of(v.input), channel_params<T>(v), got);
  expect_close(got, v.expected.at("data"), v);
}

template <typename T>
void dequantize_as(const Vector& v) {
  const std::vector<T> q = integers<T>(v.input.at("data"));
  std::vector<float> got(q.size());
  dequantize(q, shape_of(v.input), channel_params<T>(v), got);
  expect_close(std::span<const float>(got), v.expected.at("data"), v);
}

void run_quantize(const Vector& v) {
  const std::string type = v.params.at("type");
  if (type == "int8") {
    quantize_as<std::int8_t>(v);
  } else if (type == "int16") {
    quantize_as<std::int16_t>(v);
  } else {
    ASSERT_EQ(type, "uint8");
    quantize_as<std::uint8_t>(v);
  }
}

void run_dequantize(const Vector& v) {
  const std::string type = v.params.at("type");
  if (type == "int8") {
    dequantize_as<std::int8_t>(v);
  } else if (type == "int16") {
    dequantize_as<std::int16_t>(v);
  } else {
    ASSERT_EQ(type, "uint8");
    dequantize_as<std::uint8_t>(v);
  }
}

}  // namespace

std::map<std::string, VectorRunner> operator_runners() {
  return {{"fully_connected", run_fully_connected},
          {"softmax", run_softmax},
          {"relu", run_activation},
          {"relu6", run_activation},
          {"relu_n1_to_1", run_activation},
          {"requantize", run_requantize},
          {"quantize", run_quantize},
          {"dequantize", run_dequantize}};
}

}  // namespace octet::test
