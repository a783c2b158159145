#include <fmt/core.h>
#include <octet/core/arithmetic/comparisons.h>
#include <octet/core/arithmetic/hard_swish.h>
#include <octet/core/arithmetic/sigmoid.h>
#include <octet/core/error.h>
#include <octet/core/quant/lut.h>
#include <octet/runtime/operators/float_clamp.h>
#include <octet/runtime/operators/int16_functions.h>
#include <octet/runtime/operators/quantization.h>
#include <octet/runtime/operators/unary.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace octet::detail {

std::unique_ptr<Kernel> make_byte_map(const KernelSource& source) {
  const auto look_up = [table = byte_table(source)](std::uint8_t byte) { return table[byte]; };
  return std::make_unique<Map<std::uint8_t, std::uint8_t, decltype(look_up)>>(source.input().size(),
                                                                              look_up);
}

// ---- RELU

FusedActivation relu_activation(OpCode code) {
  if (code == OpCode::relu) return FusedActivation::relu;
  if (code == OpCode::relu6) return FusedActivation::relu6;
  if (code == OpCode::relu_n1_to_1) return FusedActivation::relu_n1_to_1;
  throw InvalidArgument(fmt::format("relu_activation: {} is no clamp", to_string(code)));
}

namespace {

void check_relu(const OperatorView& view) { view.require_elementwise(); }

ByteTable relu_table(const KernelSource& source) {
  const auto clamp =
      ElementRequantizer::activation(relu_activation(source.op.code), stored_params(source.input()),
                                     stored_params(source.output()));
  return tabulate(source, [&](std::int32_t code) { return clamp.apply(code); });
}

std::unique_ptr<Kernel> make_relu(const KernelSource& source) {
  if (source.input().dtype != DType::float32) return make_byte_map(source);
  if (source.op.code == OpCode::relu)
    return make_float_map(source, [](float x) { return relu(x); });
  return make_float_map(source, FloatClamp(relu_activation(source.op.code)));
}

constexpr OperatorDefinition relu_definition(std::string_view name, const Releases& releases) {
  return {.name = name,
          .releases = releases,
          .required_version = releases[1] == 0 ? nullptr : version_by_type<>,
          .least_inputs = 1,
          .most_inputs = 1,
          .output_grid = OutputGrid::measured,
          .check = check_relu,
          .make_kernel = make_relu,
          .byte_table = relu_table};
}

}  // namespace

OperatorDefinition definitions::relu() {
  return checked(relu_definition("RELU", {10500, 20100, 20100}));
}
OperatorDefinition definitions::relu6() {
  return checked(relu_definition("RELU6", {10500, 11400, 11400}));
}
OperatorDefinition definitions::relu_n1_to_1() {
  return checked(relu_definition("RELU_N1_TO_1", {10500}));
}

// ---- LEAKY_RELU

// LEAKY_RELU: y = x where x >= 0, alpha x elsewhere. Codes are q_y = round(m (q_x - zero_point_x))
// + zero_point_y, where m is s_x / s_y on the one side and s_x alpha / s_y on the other. TensorFlow
// Lite (reference/leaky_relu.h) rounds twice under every contract of its own; XNNPACK (qs8-vlrelu)
// computes with m in steps of 1/256, and leaves factors that these cannot tell to TensorFlow Lite.

namespace {

void check_leaky_relu(const OperatorView& view) {
  view.require_elementwise();
  const float alpha = view.op.as<LeakyReluAttributes>().alpha;
  if (!std::isfinite(alpha)) view.fail(fmt::format("alpha {} is not finite", alpha));
}

ByteTable table_of(const KernelSource& source, const ElementFactor& above,
                   const ElementFactor& below) {
  const QuantParams in = stored_params(source.input());
  const QuantParams out = stored_params(source.output());
  return tabulate(source, [&](std::int32_t code) {
    const std::int32_t x = code - in.zero_point();
    const std::int64_t y = std::int64_t{x >= 0 ? above(x) : below(x)} + out.zero_point();
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(y, out.qmin, out.qmax));
  });
}

ByteTable leaky_relu_table(const KernelSource& source) {
  const float alpha = source.op.as<LeakyReluAttributes>().alpha;
  const float in = source.input().quantization.scale();
  const float out = source.output().quantization.scale();
  const float ratio = in / out;
  if (source.rounding == Rounding::fp32 && ElementFactor::fits_eight_bits(ratio) &&
      ElementFactor::fits_eight_bits(ratio * alpha)) {
    return table_of(source, ElementFactor::eight_bits(ratio),
                    ElementFactor::eight_bits(ratio * alpha));
  }
  return table_of(source, ElementFactor::rounded_twice(double{ratio}),
                  ElementFactor::rounded_twice(double{in * alpha / out}));
}

std::unique_ptr<Kernel> make_leaky_relu(const KernelSource& source) {
  if (source.input().dtype != DType::float32) return make_byte_map(source);
  const float alpha = source.op.as<LeakyReluAttributes>().alpha;
  return make_float_map(source, [alpha](float x) { return leaky_relu(x, alpha); });
}

}  // namespace

OperatorDefinition definitions::leaky_relu() {
  return checked({.name = "LEAKY_RELU",
                  .releases = {11301, 20300},
                  .required_version = first_version,
                  .least_inputs = 1,
                  .most_inputs = 1,
                  .output_grid = OutputGrid::measured,
                  .check = check_leaky_relu,
                  .make_kernel = make_leaky_relu,
                  .byte_table = leaky_relu_table});
}

// ---- HARD_SWISH

// HARD_SWISH: y = x min(max(x + 3, 0), 6) / 6. Every contract has one arithmetic for quantized
// values, that of TensorFlow Lite (reference/hard_swish.h) and TFLite Micro in 16 bits; XNNPACK
// does not take it.

namespace {

/// Input steps of 1/128: as fine as 16 bits allow for 255 quantized values.
constexpr int kFinerBits = 7;

std::int32_t saturate_int16(std::int64_t x) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(
      x, std::numeric_limits<std::int16_t>::min(), std::numeric_limits<std::int16_t>::max()));
}

/// A factor as digits * 2^(shift - 15).
struct ShortFactor {
  std::int32_t digits;
  int shift;

  explicit ShortFactor(float factor) {
    const QuantizedMultiplier m = quantize_multiplier(double{factor});
    digits = m.multiplier >= 0x7FFF0000 ? 0x7FFF : (m.multiplier + (1 << 15)) >> 16;
    shift = m.shift;
  }

  /// x digits / 2^15, ties upwards.
  std::int32_t multiply(std::int32_t x) const {
    return saturate_int16((std::int64_t{x} * digits + (1 << 14)) >> 15);
  }
};

std::int32_t shift_left(std::int32_t x, int bits) {
  // 16 bits carry every value but 0 out of int16.
  return saturate_int16(std::int64_t{x} * (std::int64_t{1} << std::min(bits, 16)));
}

/// x in units of 3 / 2^15, saturated beyond 3 on either side.
std::int32_t in_units_of_three(std::int32_t x, const ShortFactor& factor) {
  std::int32_t r = x;
  if (factor.shift > 0) r = shift_left(r, factor.shift - 1);
  r = factor.multiply(r);
  if (factor.shift > 0) return shift_left(r, 1);
  return rounding_divide_by_pot(r, -factor.shift);
}

float fine_scale(const QuantParams& in) { return in.scale() / (1 << kFinerBits); }

void check_hard_swish(const OperatorView& view) {
  view.require_elementwise();
  if (view.output().dtype == DType::float32) return;
  const float in = view.input().quantization.scale();
  const float out = view.output().quantization.scale();
  // Not written so that NaN would pass.
  if (std::isfinite(in) && fine_scale(view.input().quantization) / out < 1.0F) return;
  view.fail(fmt::format(
      "expected an output scale above 1/128 of its input's, as 16 bits hold it, found {} and {}",
      out, in));
}

ByteTable hard_swish_table(const KernelSource& source) {
  const QuantParams in = stored_params(source.input());
  const QuantParams out = stored_params(source.output());
  const float fine = fine_scale(in);
  const ShortFactor to_output(fine / out.scale());
  const ShortFactor to_units(fine / (3.0F / 32768.0F));
  return tabulate(source, [&](std::int32_t code) {
    const std::int32_t x = (code - in.zero_point()) * (1 << kFinerBits);
    const std::int32_t outer = to_output.multiply(x);
    // (x + 3) / 6 in units of 2^-15.
    const std::int32_t gate = (in_units_of_three(x, to_units) + (1 << 15)) >> 1;
    const std::int32_t product = gate * outer / (1 << 15);
    const std::int32_t y = rounding_divide_by_pot(product, -to_output.shift) + out.zero_point();
    return std::clamp(y, out.qmin, out.qmax);
  });
}

std::unique_ptr<Kernel> make_hard_swish(const KernelSource& source) {
  if (source.input().dtype != DType::float32) return make_byte_map(source);
  return make_float_map(source, [](float x) { return hard_swish(x); });
}

/// Results that are all next to nothing, as of inputs below -3, get a scale that the operator
/// takes.
QuantParams fitting_hard_swish(std::span<const QuantParams> inputs, QuantParams measured) {
  const float fine = fine_scale(inputs[0]);
  if (!(fine / measured.scale() < 1.0F)) measured.scales = {2.0F * fine};
  return measured;
}

}  // namespace

OperatorDefinition definitions::hard_swish() {
  return checked({.name = "HARD_SWISH",
                  .releases = {11500},
                  .least_inputs = 1,
                  .most_inputs = 1,
                  .output_grid = OutputGrid::measured,
                  .fitting_grid = fitting_hard_swish,
                  .check = check_hard_swish,
                  .make_kernel = make_hard_swish,
                  .byte_table = hard_swish_table});
}

// ---- LOGISTIC

// LOGISTIC: y = 1 / (1 + exp(-x)); int8 has the scale 1/256 and the zero point -128, int16 the
// scale 2^-15.

namespace {

QuantParams logistic_grid() { return QuantParams::per_tensor(Int8Lut::kLogisticScale, -128); }

QuantParams int16_sigmoid_grid() {
  return QuantParams::per_tensor(1.0F / 32768.0F, 0, -32768, 32767);
}

void check_fixed_output(const OperatorView& view) {
  if (view.input().dtype == DType::int16) {
    check_int16_sigmoid(view);
  } else {
    view.require_elementwise();
  }
  view.require_fixed_grid();
}

ByteTable logistic_table(const KernelSource& source) {
  const QuantParams& in = source.input().quantization;
  const auto lut = Int8Lut::logistic(in.scale(), in.zero_point(), source.rounding);
  return tabulate(source, [&](std::int32_t code) { return lut(static_cast<std::int8_t>(code)); });
}

std::unique_ptr<Kernel> make_logistic(const KernelSource& source) {
  const DType dtype = source.input().dtype;
  if (dtype == DType::int16) return make_int16_sigmoid(source, SigmoidForm::logistic);
  if (dtype != DType::float32) return make_byte_map(source);
  return make_float_map(source, [](float x) { return sigmoid(x); });
}

}  // namespace

OperatorDefinition definitions::logistic() {
  return checked({.name = "LOGISTIC",
                  .releases = {11400, 11400, 20300},
                  .required_version = version_by_type<3>,
                  .least_inputs = 1,
                  .most_inputs = 1,
                  .output_grid = OutputGrid::fixed,
                  .takes_int16 = true,
                  .fixed_grid = logistic_grid,
                  .fixed_int16_grid = int16_sigmoid_grid,
                  .check = check_fixed_output,
                  .make_kernel = make_logistic,
                  .byte_table = logistic_table});
}

// ---- TANH

// TANH: y = tanh(x); int8 has the scale 1/128, int16 2^-15, both the zero point 0.

namespace {

QuantParams tanh_grid() { return QuantParams::per_tensor(Int8Lut::kTanhScale, 0); }

ByteTable tanh_table(const KernelSource& source) {
  const QuantParams& in = source.input().quantization;
  const auto lut = Int8Lut::tanh(in.scale(), in.zero_point(), source.rounding);
  return tabulate(source, [&](std::int32_t code) { return lut(static_cast<std::int8_t>(code)); });
}

std::unique_ptr<Kernel> make_tanh(const KernelSource& source) {
  const DType dtype = source.input().dtype;
  if (dtype == DType::int16) return make_int16_sigmoid(source, SigmoidForm::tanh);
  if (dtype != DType::float32) return make_byte_map(source);
  return make_float_map(source, [](float x) { return std::tanh(x); });
}

}  // namespace

OperatorDefinition definitions::tanh() {
  return checked({.name = "TANH",
                  .releases = {11400, 11400, 20300},
                  .required_version = version_by_type<3>,
                  .least_inputs = 1,
                  .most_inputs = 1,
                  .output_grid = OutputGrid::fixed,
                  .takes_int16 = true,
                  .fixed_grid = tanh_grid,
                  .fixed_int16_grid = int16_sigmoid_grid,
                  .check = check_fixed_output,
                  .make_kernel = make_tanh,
                  .byte_table = tanh_table});
}

}  // namespace octet::detail
