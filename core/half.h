#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace octet::detail {

/// The number that 16 bits stand for, IEEE 754 binary16; every one is a float.
inline float float_of_half(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (bits >> 10U) & 0x1FU;
  const std::uint32_t mantissa = bits & 0x3FFU;
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign == 0 ? magnitude : -magnitude;
  }
  // The exponents' offsets are 15 and 127; 31 is that of infinities and NaN.
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | (wide << 23U) | (mantissa << 13U));
}

}  // namespace octet::detail
