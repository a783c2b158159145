#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/quant/code_table.h>
#include <octet/core/quant/packed_codes.h>
#include <octet/runtime/integer_model.h>

namespace octet {

std::size_t ModelTensor::stored_bytes() const {
  if (decoded_bits > 0) {
    constexpr std::size_t kHeader = 16;
    return index_bytes(data.size(), decoded_bits) + kHeader + (std::size_t{1} << decoded_bits);
  }
  return stored_bits == 8 ? data.size() : packed_bytes(data.size(), stored_bits);
}

Shape ModelTensor::example_shape() const {
  if (shape.empty()) return {};
  return Shape(std::vector<Index>(shape.begin() + 1, shape.end()));
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
