#include <octet/import/weights/float_values.h>

#include <bit>
#include <cmath>
#include <cstring>

namespace octet::detail {
namespace {

static_assert(std::endian::native == std::endian::little,
              "values are read as they lie in the file");

template <class T, class Convert>
void convert_all(std::span<const std::uint8_t> bytes, std::span<float> to, Convert convert) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + (i * sizeof(T)), sizeof(T));
    to[i] = convert(value);
  }
}

}  // namespace

float float_of_half(std::uint16_t bits) {
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

Tensor float_tensor(FloatType type, const Shape& shape, std::span<const std::uint8_t> bytes) {
  Tensor result(shape);
  const std::span<float> to = result.mutable_span();
  switch (type) {
    case FloatType::f16:
      convert_all<std::uint16_t>(bytes, to, float_of_half);
      break;
    case FloatType::bf16:
      convert_all<std::uint16_t>(bytes, to, [](std::uint16_t high) {
        return std::bit_cast<float>(std::uint32_t{high} << 16U);
      });
      break;
    case FloatType::f32:
      if (!to.empty()) std::memcpy(to.data(), bytes.data(), to.size_bytes());
      break;
    case FloatType::f64:
      convert_all<double>(bytes, to, [](double value) { return static_cast<float>(value); });
      break;
  }
  return result;
}

}  // namespace octet::detail
