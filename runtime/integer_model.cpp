#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/quant/code_table.h>
#include <octet/core/quant/packed_codes.h>
#include <octet/runtime/integer_model.h>

#include <limits>

namespace octet {

std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::uint8:
    case DType::int8:
      return 1;
    case DType::int16:
      return 2;
    case DType::float32:
    case DType::int32:
      return 4;
    case DType::int64:
      return 8;
  }
  throw InvalidArgument(fmt::format("size_of: unknown type {}", static_cast<int>(dtype)));
}

std::pair<std::int32_t, std::int32_t> code_limits(DType dtype) {
  switch (dtype) {
    case DType::int8:
      return {-128, 127};
    case DType::uint8:
      return {0, 255};
    case DType::int16:
      return {-32768, 32767};
    case DType::int32:
      return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    default:
      return {0, 0};
  }
}

DType type_of_codes(const QuantParams& grid) {
  return grid.qmin < -128 || grid.qmax > 127 ? DType::int16 : DType::int8;
}

std::string_view to_string(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "float32";
    case DType::int32:
      return "int32";
    case DType::uint8:
      return "uint8";
    case DType::int64:
      return "int64";
    case DType::int16:
      return "int16";
    case DType::int8:
      return "int8";
  }
  return "unknown";
}

std::size_t ModelTensor::stored_bytes() const {
  if (decoded_bits > 0) {
    constexpr std::size_t kHeader = 16;
    return index_bytes(data.size(), decoded_bits) + kHeader + (std::size_t{1} << decoded_bits);
  }
  return stored_bits == 8 ? data.size() : packed_bytes(data.size(), stored_bits);
}

std::int64_t ModelTensor::size() const {
  // Every extent is below 2^31, so one product of two checked factors cannot overflow 64 bits.
  std::int64_t count = 1;
  for (const std::int32_t extent : shape) {
    count *= extent;
    if (extent < 0 || count > std::numeric_limits<std::int32_t>::max()) {
      throw FormatError(fmt::format("tensor '{}': shape [{}] has no size below 2^31", name,
                                    fmt::join(shape, ", ")));
    }
  }
  return count;
}

}  // namespace octet
