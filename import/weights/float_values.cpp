#include <octet/core/half.h>
#include <octet/import/weights/float_values.h>

#include <bit>
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
