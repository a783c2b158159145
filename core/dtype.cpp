#include <fmt/core.h>
#include <octet/core/dtype.h>
#include <octet/core/error.h>
#include <octet/core/quant/quant_params.h>

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

std::pair<std::int32_t, std::int32_t> integer_limits(DType dtype) {
  switch (dtype) {
    case DType::int8:
      return {-128, 127};
    case DType::uint8:
      return {0, 255};
    case DType::int16:
      return {-32768, 32767};
    case DType::int32:
      return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    case DType::int64:
    case DType::float32:
      return {0, 0};
  }
  throw InvalidArgument(fmt::format("integer_limits: unknown type {}", static_cast<int>(dtype)));
}

DType integer_type_of(const QuantParams& params) {
  return params.qmin < -128 || params.qmax > 127 ? DType::int16 : DType::int8;
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

}  // namespace octet
