#include <octet/core/quant/lut.h>

#include <cmath>

#include <fmt/format.h>

#include <octet/core/error.h>
#include <octet/core/quant/round.h>

namespace octet {
namespace {

template <typename Function>
std::array<std::int8_t, 256> make_table(float scale, std::int32_t zero_point, float out_scale,
                                        std::int32_t out_zero_point, std::string_view name,
                                        Function function) {
  if (!std::isfinite(scale) || !(scale > 0.0F) || !in_range(zero_point, -128, 127)) {
    throw InvalidArgument(
        fmt::format("{}: expected a finite scale above 0 and an int8 zero point, found {} and {}",
                    name, scale, zero_point));
  }
  std::array<std::int8_t, 256> table{};
  for (std::int32_t code = -128; code <= 127; ++code) {
    const float x = scale * static_cast<float>(code - zero_point);
    // In double, then rounded once: math libraries differ in the last bit of their float functions.
    const auto y = static_cast<float>(function(static_cast<double>(x)));
    const float rounded = round_half_even(y / out_scale) + static_cast<float>(out_zero_point);
    table[static_cast<std::uint8_t>(code)] = clamp_to<std::int8_t>(rounded);
  }
  return table;
}

}  // namespace

Int8Lut Int8Lut::logistic(float input_scale, std::int32_t input_zero_point) {
  Int8Lut lut;
  lut.table_ = make_table(input_scale, input_zero_point, kLogisticScale, -128, "logistic",
                          [](double x) { return 1.0 / (1.0 + std::exp(-x)); });
  return lut;
}

Int8Lut Int8Lut::tanh(float input_scale, std::int32_t input_zero_point) {
  Int8Lut lut;
  lut.table_ = make_table(input_scale, input_zero_point, kTanhScale, 0, "tanh",
                          [](double x) { return std::tanh(x); });
  return lut;
}

void Int8Lut::run(std::span<const std::int8_t> in, std::span<std::int8_t> out) const {
  if (in.size() != out.size()) {
    throw InvalidArgument(fmt::format("int8 table: {} codes in, {} out", in.size(), out.size()));
  }
  for (std::size_t i = 0; i < in.size(); ++i) {
    out[i] = (*this)(in[i]);
  }
}

}  // namespace octet
