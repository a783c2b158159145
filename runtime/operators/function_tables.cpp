// Functions of one quantized value that have a scale of their own: ELU, GELU, EXP, LOG, SQRT and
// RSQRT.

#include <fmt/core.h>
#include <octet/core/arithmetic/elu.h>
#include <octet/core/arithmetic/gelu.h>
#include <octet/core/arithmetic/real_functions.h>
#include <octet/core/quant/fixed_point.h>
#include <octet/core/quant/round.h>
#include <octet/runtime/operators/unary.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

namespace octet::detail {
namespace {

/// Whose kernel makes a table: XNNPACK rounds the sum with the zero point, ties to even, LiteRT's
/// own and TFLite Micro's the quotient, ties away from zero.
enum class TableMaker { xnnpack, built_in };

/// The table of y = function(scale_x (q_x - zero_point_x)), of float32 numbers:
/// q_y = round(y (1 / scale_y) + zero_point_y), clamped.
ByteTable function_table(const KernelSource& source, TableMaker maker,
                         const std::function<float(float)>& function) {
  const QuantParams in = stored_params(source.input());
  const QuantParams out = stored_params(source.output());
  const float factor = 1.0F / out.scale();
  const auto zero_point = static_cast<float>(out.zero_point());
  return tabulate(source, [&](std::int32_t q) {
    const float steps = function(in.scale() * static_cast<float>(q - in.zero_point())) * factor;
    const float rounded = maker == TableMaker::xnnpack ? round_half_even(steps + zero_point)
                                                       : round_half_away(steps) + zero_point;
    return std::int32_t{clamp_to<std::int8_t>(rounded)};
  });
}

void check_function(const OperatorView& view) { view.require_elementwise(); }

// ---- ELU

ByteTable elu_table(const KernelSource& source) {
  const bool delegated = source.rounding == Rounding::fp32;
  return function_table(source, delegated ? TableMaker::xnnpack : TableMaker::built_in, elu);
}

std::unique_ptr<Kernel> make_elu(const KernelSource& source) {
  if (source.input().dtype != DType::float32) return make_byte_map(source);
  return make_float_map(source, elu);
}

// ---- GELU

auto gelu_of(const KernelSource& source) {
  const bool approximate = source.op.as<GeluAttributes>().approximate;
  const GeluForm form = approximate ? GeluForm::approximate : GeluForm::exact;
  return [form](float x) { return gelu(x, form); };
}

ByteTable gelu_table(const KernelSource& source) {
  return function_table(source, TableMaker::built_in, gelu_of(source));
}

std::unique_ptr<Kernel> make_gelu(const KernelSource& source) {
  if (source.input().dtype != DType::float32) return make_byte_map(source);
  return make_float_map(source, gelu_of(source));
}

// ---- EXP and LOG

ByteTable exp_table(const KernelSource& source) {
  return function_table(source, TableMaker::built_in, exponential);
}

std::unique_ptr<Kernel> make_exp(const KernelSource& source) {
  if (source.input().dtype != DType::float32) return make_byte_map(source);
  return make_float_map(source, exponential);
}

ByteTable log_table(const KernelSource& source) {
  return function_table(source, TableMaker::built_in, logarithm);
}

std::unique_ptr<Kernel> make_log(const KernelSource& source) {
  if (source.input().dtype != DType::float32) return make_byte_map(source);
  return make_float_map(source, logarithm);
}

// ---- SQRT and RSQRT

/// Quantized values below the zero point end a run in TensorFlow Lite, so that files may have none.
void check_root(const OperatorView& view) {
  view.require_elementwise();
  if (view.output().dtype == DType::float32) return;
  const std::int32_t found = view.input().quantization.zero_point();
  if (found == -128) return;
  view.fail(fmt::format(
      "expected an input of zero point -128, which has no values below 0, found {}", found));
}

/// LiteRT drops the fraction of the quotient.
ByteTable sqrt_table(const KernelSource& source) {
  const QuantParams in = stored_params(source.input());
  const QuantParams out = stored_params(source.output());
  return tabulate(source, [&](std::int32_t q) {
    const float x = in.scale() * static_cast<float>(q - in.zero_point());
    const float steps = std::trunc(std::sqrt(x) / out.scale());
    return std::int32_t{clamp_to<std::int8_t>(steps + static_cast<float>(out.zero_point()))};
  });
}

std::unique_ptr<Kernel> make_sqrt(const KernelSource& source) {
  if (source.input().dtype != DType::float32) return make_byte_map(source);
  return make_float_map(source, [](float x) { return std::sqrt(x); });
}

// RSQRT: y = 1 / sqrt(x). Every rounding mode has TensorFlow Lite's arithmetic (rsqrt.cc): Newton
// steps in 32-bit fixed point.

/// x 2^exponent, saturated, and divided where the exponent is below 0.
std::int32_t times_power(std::int32_t x, int exponent) {
  return exponent >= 0 ? saturating_left_shift(x, exponent) : rounding_divide_by_pot(x, -exponent);
}

/// 1 / sqrt(x) of a whole number above 0, as TensorFlow Lite's GetInvSqrtQuantizedMultiplierExp.
QuantizedMultiplier inverse_sqrt(std::int32_t x) {
  if (x == 1) return {std::numeric_limits<std::int32_t>::max(), 0};
  constexpr auto kMul = saturating_rounding_doubling_high_mul;
  int shift = 11;
  for (; x >= 1 << 29; x /= 4) ++shift;
  const int spare = (std::countl_zero(static_cast<std::uint32_t>(x)) - 1) / 2 - 1;
  shift -= spare;
  x <<= 2 * spare;
  const std::int32_t half = rounding_divide_by_pot(x >> 1, 1);
  constexpr std::int32_t kThreeHalves = (1 << 28) + (1 << 27);
  std::int32_t root = 1 << 28;
  for (int step = 0; step < 5; ++step) {
    const std::int32_t cube = times_power(kMul(kMul(root, root), root), 6);
    root = times_power(kMul(kThreeHalves, root) - kMul(half, cube), 3);
  }
  constexpr std::int32_t kSqrtOfTwoHalves = 1518500250;
  root = kMul(root, kSqrtOfTwoHalves);
  if (shift < 0) {
    root = times_power(root, -shift);
    shift = 0;
  }
  return {root, -shift};
}

ByteTable rsqrt_table(const KernelSource& source) {
  const QuantParams in = stored_params(source.input());
  const QuantParams out = stored_params(source.output());
  constexpr int kFractionBits = 20;
  const float scales = std::sqrt(in.scale()) * out.scale();
  QuantizedMultiplier to_output = quantize_multiplier(1.0 / double{scales});
  to_output.shift -= kFractionBits;
  return tabulate(source, [&](std::int32_t q) {
    const std::int32_t x = q - in.zero_point();
    if (x <= 0) return 127;
    QuantizedMultiplier root = inverse_sqrt(x);
    root.shift += kFractionBits;
    const std::int32_t y = multiply_by_quantized_multiplier_double(1, root);
    const std::int64_t steps = multiply_by_quantized_multiplier_double(y, to_output);
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(steps + out.zero_point(), -128, 127));
  });
}

std::unique_ptr<Kernel> make_rsqrt(const KernelSource& source) {
  if (source.input().dtype != DType::float32) return make_byte_map(source);
  return make_float_map(source, inverse_square_root);
}

constexpr OperatorDefinition function_definition(
    std::string_view name, const Releases& releases, void (*check)(const OperatorView& view),
    std::unique_ptr<Kernel> (*make_kernel)(const KernelSource& source),
    ByteTable (*byte_table)(const KernelSource& source)) {
  return {.name = name,
          .releases = releases,
          .required_version = releases[1] == 0 ? nullptr : version_by_type<>,
          .least_inputs = 1,
          .most_inputs = 1,
          .output_grid = OutputGrid::measured,
          .check = check,
          .make_kernel = make_kernel,
          .byte_table = byte_table};
}

}  // namespace

OperatorDefinition definitions::elu() {
  return checked(function_definition("ELU", {11400}, check_function, make_elu, elu_table));
}

OperatorDefinition definitions::exp() {
  return checked(function_definition("EXP", {10700, 21200}, check_function, make_exp, exp_table));
}

OperatorDefinition definitions::log() {
  return checked(function_definition("LOG", {11400, 21400}, check_function, make_log, log_table));
}

OperatorDefinition definitions::sqrt() {
  return checked(function_definition("SQRT", {11000, 21600}, check_root, make_sqrt, sqrt_table));
}

OperatorDefinition definitions::gelu() {
  return checked(
      function_definition("GELU", {20900, 20900}, check_function, make_gelu, gelu_table));
}

OperatorDefinition definitions::rsqrt() {
  return checked(function_definition("RSQRT", {11000, 20500}, check_root, make_rsqrt, rsqrt_table));
}

}  // namespace octet::detail
