#include <fmt/core.h>
#include <octet/core/arithmetic/hard_swish.h>
#include <octet/core/quant/fixed_point.h>
#include <octet/runtime/operators/map.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

// HARD_SWISH: y = x min(max(x + 3, 0), 6) / 6. Every contract has one arithmetic for codes, that of
// TensorFlow Lite (reference/hard_swish.h) and TFLite Micro in 16 bits; XNNPACK does not take it.

namespace octet::detail {
namespace {

/// Input steps of 1/128: as fine as 16 bits allow for 255 codes.
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
                  .default_attributes = default_of<NoAttributes>,
                  .least_inputs = 1,
                  .most_inputs = 1,
                  .output_grid = OutputGrid::measured,
                  .fitting_grid = fitting_hard_swish,
                  .check = check_hard_swish,
                  .make_kernel = make_hard_swish,
                  .byte_table = hard_swish_table});
}

}  // namespace octet::detail
