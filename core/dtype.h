#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace octet {

struct QuantParams;

/// Element types of tensors, numbered as in a .tflite file.
enum class DType : std::int8_t {
  float32 = 0,
  int32 = 2,
  uint8 = 3,
  int64 = 4,
  int16 = 7,
  int8 = 9
};

/// Bytes of one element.
std::size_t size_of(DType dtype);
/// The lowest and the highest value of an integer type that quantized values may have; 0, 0 for
/// int64, which only biases with zero points 0 have, and for floats.
std::pair<std::int32_t, std::int32_t> integer_limits(DType dtype);
/// The signed integer type that holds all quantized values of `params`: int8, or int16 where they
/// need it.
DType integer_type_of(const QuantParams& params);
/// "float32", "int8", ...: numpy's names.
std::string_view to_string(DType dtype);

}  // namespace octet
