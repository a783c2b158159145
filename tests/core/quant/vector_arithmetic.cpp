#include <octet/core/quant/activation_range.h>
#include <octet/core/quant/bias.h>
#include <octet/core/quant/fixed_point.h>
#include <octet/core/quant/fixed_point_math.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/quant/softmax.h>
#include <octet/tests/core/quant/tensorflow/symmetric.h>
#include <octet/tests/core/quant/vector_ops.h>

#include <gtest/gtest.h>

namespace octet::test {
namespace {

bool wants_error(const Vector& v) { return v.expected.contains("error"); }

QuantizedMultiplier multiplier_of(const Vector& v) {
  const double factor = v.input.at("multiplier");
  const std::string variant = v.params.at("variant");
  if (variant == "smaller_than_one_exp") {
    return quantize_multiplier_smaller_than_one_exp(factor);
  }
  if (variant == "greater_than_one") {
    return quantize_multiplier_greater_than_one(factor);
  }
  return quantize_multiplier(factor);
}

void run_quantize_multiplier(const Vector& v) {
  if (wants_error(v)) {
    expect_error([&] { (void)multiplier_of(v); }, v);
    return;
  }
  const QuantizedMultiplier m = multiplier_of(v);
  EXPECT_EQ(m.multiplier, v.expected.at("quantized_multiplier").get<std::int32_t>()) << v.id;
  EXPECT_EQ(m.shift, v.expected.at("shift").get<int>()) << v.id;
}

void run_multiply(const Vector& v) {
  const std::int64_t x = v.input.at("x");
  const std::string rounding = v.params.at("rounding");
  const std::int64_t want = v.expected.at("value");
  const auto factor = [&](Rounding contract) {
    return v.input.contains("shift")
               ? QuantizedMultiplier{v.input.at("quantized_multiplier"), v.input.at("shift")}
               : quantize_multiplier(v.input.at("multiplier"), contract);
  };
  if (v.params.at("width") == 64) {
    EXPECT_EQ(multiply_by_quantized_multiplier_64(x, factor(Rounding::double_rounding)), want);
    return;
  }
  for (const Rounding contract : {Rounding::single_rounding, Rounding::double_rounding}) {
    if (rounding == "both" || rounding == to_string(contract)) {
      EXPECT_EQ(multiply_by_quantized_multiplier(static_cast<std::int32_t>(x), factor(contract),
                                                 contract),
                want)
          << v.id << " " << to_string(contract);
    }
  }
}

template <typename Function>
void run_elementwise(const Vector& v, Function function) {
  std::vector<std::int32_t> got;
  for (const std::int32_t x : integers<std::int32_t>(v.input.at("data"))) {
    got.push_back(function(x));
  }
  expect_close(got, v.expected.at("data"), v);
}

void run_divide_by_pot(const Vector& v) {
  const int exponent = v.params.at("exponent");
  run_elementwise(v, [&](std::int32_t x) { return rounding_divide_by_pot(x, exponent); });
}

void run_exp(const Vector& v) {
  const int bits = v.params.at("integer_bits");
  run_elementwise(v, [&](std::int32_t x) { return exp_on_negative_values(x, bits); });
}

void run_reciprocal(const Vector& v) { run_elementwise(v, one_over_one_plus_x); }

void run_softmax_scaling(const Vector& v) {
  const QuantizedMultiplier m = preprocess_softmax_scaling(
      v.input.at("beta"), v.input.at("input_scale"), v.input.at("integer_bits"),
      parse_rounding(v.params.at("rounding").get<std::string>()));
  EXPECT_EQ(m.multiplier, v.expected.at("quantized_multiplier").get<std::int32_t>());
  EXPECT_EQ(m.shift, v.expected.at("left_shift").get<int>());
}

void run_input_radius(const Vector& v) {
  EXPECT_EQ(calculate_input_radius(v.input.at("integer_bits"), v.input.at("left_shift"),
                                   v.params.at("total_signed_bits")),
            v.expected.at("value").get<std::int32_t>());
}

QuantParams chosen(const Vector& v, bool narrow_range) {
  QuantSpec spec;
  spec.is_signed = false;
  spec.narrow_range = narrow_range;
  return choose_quant_params(v.input.at("min").get<float>(), v.input.at("max").get<float>(), spec,
                             "test");
}

void run_choose(const Vector& v) {
  ASSERT_EQ(v.params.at("type"), "uint8");
  const QuantParams got = chosen(v, false);
  expect_close(std::span<const float>(got.scales), v.expected.at("scale"), v);
  EXPECT_EQ(got.zero_point(), v.expected.at("zero_point").get<std::int32_t>());
}

void run_converter(const Vector& v) {
  ASSERT_EQ(v.params.at("storage"), "uint8");
  const QuantParams got = chosen(v, v.params.at("narrow_range"));
  EXPECT_EQ(got.scale(), v.expected.at("scale").get<float>());
  EXPECT_EQ(got.zero_point(), v.expected.at("zero_point").get<std::int32_t>());
}

void run_activation_range(const Vector& v) {
  ASSERT_EQ(v.params.at("type"), "uint8");
  ASSERT_EQ(v.params.at("activation"), "relu");
  const ActivationRange got = activation_range(FusedActivation::relu, v.input.at("scale"),
                                               v.input.at("zero_point"), 0, 255);
  EXPECT_EQ(got, (ActivationRange{v.expected.at("min"), v.expected.at("max")}));
}

void run_symmetric(const Vector& v) {
  const std::vector<float> w = floats(v.input.at("data"));
  const std::vector<std::int64_t> shape = shape_of(v.input);
  const int axis = v.params.at("quantized_dimension");
  std::vector<std::int8_t> codes(w.size());
  symmetric_per_channel_quantize(w, shape, axis,
                                 symmetric_per_channel_inverse_scales(w, shape, axis), codes);
  EXPECT_EQ(codes, integers<std::int8_t>(v.expected.at("data")));
  const std::vector<float> scales = symmetric_per_channel_scales(w, shape, axis);
  expect_close(std::span<const float>(scales), v.expected.at("scales"), v);
}

void run_symmetric_values(const Vector& v) {
  const std::vector<float> w = floats(v.input.at("data"));
  std::vector<std::int8_t> codes(w.size());
  symmetric_per_channel_quantize(w, shape_of(v.input), v.params.at("quantized_dimension"),
                                 floats(v.params.at("scales_inv")), codes);
  EXPECT_EQ(codes, integers<std::int8_t>(v.expected.at("data")));
}

std::vector<double> scales_of(const nlohmann::json& from) {
  return bias_scales(from.at("input_scale"), floats(from.at("weight_scales")));
}

void run_bias(const Vector& v) {
  const std::vector<float> bias = floats(v.input.at("data"));
  const std::vector<double> scales = scales_of(v.params);
  std::vector<std::int32_t> codes(bias.size());
  quantize_bias(bias, scales, codes, "test");
  EXPECT_EQ(codes, integers<std::int32_t>(v.expected.at("data")));
  expect_close(std::span<const double>(scales), v.expected.at("scales"), v);
}

void run_bias_scale(const Vector& v) {
  expect_close(std::span<const double>(scales_of(v.input)), v.expected.at("scales"), v);
}

}  // namespace

std::map<std::string, VectorRunner> arithmetic_runners() {
  return {{"quantize_multiplier", run_quantize_multiplier},
          {"multiply_by_quantized_multiplier", run_multiply},
          {"rounding_divide_by_pot", run_divide_by_pot},
          {"exp_on_negative_values", run_exp},
          {"one_over_one_plus_x", run_reciprocal},
          {"preprocess_softmax_scaling", run_softmax_scaling},
          {"calculate_input_radius", run_input_radius},
          {"choose_quantization_params", run_choose},
          {"converter_fake_quant_params", run_converter},
          {"activation_range", run_activation_range},
          {"symmetric_per_channel_quantize", run_symmetric},
          {"symmetric_per_channel_quantize_values", run_symmetric_values},
          {"bias_quantize", run_bias},
          {"converter_bias_scale", run_bias_scale}};
}

}  // namespace octet::test
