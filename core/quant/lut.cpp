#include <octet/core/quant/lut.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/core.h>

#include <octet/core/error.h>
#include <octet/core/quant/fixed_point_math.h>
#include <octet/core/quant/round.h>
#include <octet/core/quant/softmax.h>

namespace octet {
namespace {

using Table = std::array<std::int8_t, 256>;

/// A function, its output grid, and its fixed-point form: with 0 integer bits, of a number with
/// kLogisticIntegerBits.
struct TableFunction {
  std::string_view name;
  double (*real)(double);
  std::int32_t (*fixed)(std::int32_t, int) noexcept;
  float scale;
  std::int32_t zero_point;
};

double real_logistic(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double real_tanh(double x) { return std::tanh(x); }

constexpr int kLogisticIntegerBits = 4;

/// By the distance of a code from the input's zero point.
template <class OfDistance>
Table tabulate(std::int32_t zero_point, OfDistance&& of_distance) {
  Table table{};
  for (std::int32_t code = -128; code <= 127; ++code) {
    table[static_cast<std::uint8_t>(code)] = of_distance(code - zero_point);
  }
  return table;
}

Table float_table(const TableFunction& f, float scale, std::int32_t zero_point) {
  return tabulate(zero_point, [&](std::int32_t distance) {
    const float x = scale * static_cast<float>(distance);
    // In double, then rounded once: math libraries differ in the last bit of their float functions.
    const auto y = static_cast<float>(f.real(static_cast<double>(x)));
    return clamp_to<std::int8_t>(round_half_even(y / f.scale) + static_cast<float>(f.zero_point));
  });
}

Table fixed_table(const TableFunction& f, float scale, std::int32_t zero_point) {
  const QuantizedMultiplier m =
      quantize_multiplier(std::ldexp(static_cast<double>(scale), 31 - kLogisticIntegerBits));
  const std::int32_t radius = calculate_input_radius(kLogisticIntegerBits, m.shift);
  const int output_bits = -std::ilogb(f.scale);
  return tabulate(zero_point, [&](std::int32_t distance) -> std::int8_t {
    // In this order: a radius of 0 gives -128 at the zero point itself, as upstream.
    if (distance <= -radius) {
      return -128;
    }
    if (distance >= radius) {
      return 127;
    }
    const std::int32_t x = multiply_by_quantized_multiplier_double(distance, m);
    const std::int32_t y = f.fixed(x, kLogisticIntegerBits);
    const std::int32_t code = rounding_divide_by_pot(y, 31 - output_bits) + f.zero_point;
    return static_cast<std::int8_t>(std::clamp(code, -128, 127));
  });
}

Table make_table(const TableFunction& f, float scale, std::int32_t zero_point, Rounding rounding) {
  if (!std::isfinite(scale) || !(scale > 0.0F) || !in_range(zero_point, -128, 127)) {
    throw InvalidArgument(
        fmt::format("{}: expected a finite scale above 0 and an int8 zero point, found {} and {}",
                    f.name, scale, zero_point));
  }
  return rounding == Rounding::double_rounding ? fixed_table(f, scale, zero_point)
                                               : float_table(f, scale, zero_point);
}

}  // namespace

Int8Lut Int8Lut::logistic(float input_scale, std::int32_t input_zero_point, Rounding rounding) {
  Int8Lut lut;
  lut.table_ = make_table({"logistic", real_logistic, fixed_point_logistic, kLogisticScale, -128},
                          input_scale, input_zero_point, rounding);
  return lut;
}

Int8Lut Int8Lut::tanh(float input_scale, std::int32_t input_zero_point, Rounding rounding) {
  Int8Lut lut;
  lut.table_ = make_table({"tanh", real_tanh, fixed_point_tanh, kTanhScale, 0}, input_scale,
                          input_zero_point, rounding);
  return lut;
}

void Int8Lut::run(std::span<const std::int8_t> in, std::span<std::int8_t> out) const {
  if (in.size() != out.size()) {
    throw InvalidArgument(fmt::format("int8 table: {} values in, {} out", in.size(), out.size()));
  }
  for (std::size_t i = 0; i < in.size(); ++i) {
    out[i] = (*this)(in[i]);
  }
}

}  // namespace octet
