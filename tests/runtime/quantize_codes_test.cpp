// QUANTIZE of codes: codes of one grid become those of another.

#include <gtest/gtest.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/runtime/models.h>
#include <octet/tests/runtime/naive.h>

#include <algorithm>
#include <cmath>

namespace octet::test::quantize_codes_test {
namespace {

IntegerModel make_requantize(const std::vector<std::int32_t>& shape, DType from,
                             const QuantParams& in, DType to, const QuantParams& out) {
  return make_unary(OpCode::quantize, {"x", from, shape, {}, in, {}},
                    {"y", to, shape, {}, out, {}});
}

/// What becomes of all codes of a type, the lowest first.
std::vector<int> requantized(DType from, const QuantParams& in, DType to, const QuantParams& out,
                             Rounding rounding) {
  Interpreter interpreter(make_requantize({1, 256}, from, in, to, out), {.rounding = rounding});
  const auto bytes = interpreter.input_bytes();
  for (int i = 0; i < 256; ++i) {
    bytes[static_cast<std::size_t>(i)] = static_cast<std::byte>(i + integer_limits(from).first);
  }
  interpreter.invoke();
  std::vector<int> codes;
  for (const std::byte byte : interpreter.output_bytes()) {
    codes.push_back(to == DType::int8 ? int{static_cast<std::int8_t>(byte)}
                                      : std::to_integer<int>(byte));
  }
  return codes;
}

/// round(ratio (q - zero_point)) + zero_point of the result, with ratio in steps of 1/256.
std::vector<int> in_eight_bits(float ratio, DType type, std::int32_t in, std::int32_t out) {
  const auto [lo, hi] = integer_limits(type);
  std::vector<int> codes;
  for (int q = lo; q <= hi; ++q) {
    const double y = std::floor((q - in) * std::nearbyint(256.0 * double{ratio}) / 256 + 0.5) + out;
    codes.push_back(static_cast<int>(std::clamp<double>(y, lo, hi)));
  }
  return codes;
}

TEST(QuantizeCodes, Fp32TakesRatiosThatFitEightBits) {
  constexpr float kLeast = 1.0F / 256;
  for (const DType type : {DType::int8, DType::uint8}) {
    const std::int32_t middle = type == DType::int8 ? 0 : 128;
    for (const float ratio : {kLeast, 0.3F, 1.0F, 1.77F, 128.0F}) {
      const QuantParams in = quant(ratio, middle + 5, type);
      const QuantParams out = quant(1.0F, middle - 7, type);
      EXPECT_EQ(requantized(type, in, type, out, Rounding::fp32),
                in_eight_bits(ratio, type, middle + 5, middle - 7))
          << ratio;
    }
    // 0.3 becomes 77/256, which the others have more exactly.
    const auto by = [&](float ratio, Rounding rounding) {
      return requantized(type, quant(ratio, middle + 5, type), type, quant(1.0F, middle - 7, type),
                         rounding);
    };
    EXPECT_NE(by(0.3F, Rounding::fp32), by(0.3F, Rounding::double_rounding));
    for (const float ratio : {std::nextafter(kLeast, 0.0F), std::nextafter(128.0F, 1000.0F)}) {
      EXPECT_EQ(by(ratio, Rounding::fp32), by(ratio, Rounding::double_rounding)) << ratio;
    }
    for (const float ratio : {0.001F, 0.3F, 1.77F, 1000.0F}) {
      EXPECT_EQ(by(ratio, Rounding::single_rounding), by(ratio, Rounding::double_rounding))
          << ratio;
    }
  }
}

// XNNPACK takes int8 to int8 and uint8 to uint8 alone.
TEST(QuantizeCodes, BetweenTypesAllContractsRoundTwice) {
  for (const bool to_bytes : {false, true}) {
    const DType from = to_bytes ? DType::int8 : DType::uint8;
    const DType to = to_bytes ? DType::uint8 : DType::int8;
    const QuantParams in = quant(0.03F, to_bytes ? 5 : 133, from);
    const QuantParams out = quant(0.1F, to_bytes ? 121 : -7, to);
    const auto twice = requantized(from, in, to, out, Rounding::double_rounding);
    EXPECT_EQ(requantized(from, in, to, out, Rounding::fp32), twice);
    EXPECT_EQ(requantized(from, in, to, out, Rounding::single_rounding), twice);
    const auto limits = integer_limits(from);
    for (int q = limits.first; q <= limits.second; ++q) {
      const auto found = twice[static_cast<std::size_t>(q - limits.first)];
      const double exact = 0.3 * (q - in.zero_point()) + out.zero_point();
      EXPECT_NEAR(found,
                  std::clamp<double>(exact, integer_limits(to).first, integer_limits(to).second),
                  1.0);
    }
  }
}

}  // namespace
}  // namespace octet::test::quantize_codes_test
