#include <fmt/format.h>
#include <octet/core/half.h>
#include <octet/core/printable.h>
#include <octet/core/quant/packed_codes.h>
#include <octet/deploy/tflite/operators.h>
#include <octet/deploy/tflite/tensor_reader.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <tuple>

namespace octet::detail {
namespace {

static_assert(std::endian::native == std::endian::little, "constants are kept as they lie");

/// Bits of a code of the type; 8 for types that are not packed.
int bits_of(tflite::TensorType type) {
  if (type == tflite::TensorType::INT4) return 4;
  return type == tflite::TensorType::INT2 ? 2 : 8;
}

std::optional<DType> known_type(tflite::TensorType type) {
  if (bits_of(type) != 8) return DType::int8;
  constexpr std::array kKnown{DType::float32, DType::int32, DType::uint8,
                              DType::int64,   DType::int16, DType::int8};
  const auto dtype = static_cast<DType>(type);
  if (std::find(kKnown.begin(), kKnown.end(), dtype) == kKnown.end()) return std::nullopt;
  return dtype;
}

}  // namespace

std::string TensorReader::text(const flatbuffers::String* text) const {
  if (text == nullptr) return {};
  budget_->take(text->size());
  return text->c_str();
}

const flatbuffers::Vector<std::uint8_t>* TensorReader::buffer_data(std::size_t index,
                                                                   std::string_view who) const {
  if (index >= size_or_zero(file_->buffers())) {
    fail_tflite("{}: buffer {} outside the {} buffers", who, index, size_or_zero(file_->buffers()));
  }
  const tflite::Buffer& buffer = *file_->buffers()->Get(static_cast<flatbuffers::uoffset_t>(index));
  if (buffer.offset() > 1 || buffer.size() > 1) {
    fail_tflite("{}: buffer {} lies outside of the FlatBuffer, which is not supported", who, index);
  }
  return buffer.data();
}

ModelTensor TensorReader::read(std::size_t index, const tflite::Tensor& source) const {
  ModelTensor tensor;
  tensor.name = text(source.name());
  const std::string who = fmt::format("tensor {} '{}'", index, printable(tensor.name));
  const auto* data = buffer_data(source.buffer(), who);
  const bool is_half = source.type() == tflite::TensorType::FLOAT16 && size_or_zero(data) > 0;
  const auto dtype = is_half ? DType::float32 : known_type(source.type());
  if (!dtype) {
    fail_tflite("{}: type {} is not supported", who, type_name(source.type()));
  }
  if (source.sparsity() != nullptr) fail_tflite("{}: sparse tensors are not supported", who);
  tensor.dtype = *dtype;
  tensor.stored_bits = bits_of(source.type());
  tensor.shape = read_values(source.shape(), kMaxRank, who, *budget_);
  tensor.shape_signature = read_values(source.shape_signature(), kMaxRank, who, *budget_);
  if (source.quantization() != nullptr) read_quantization(*source.quantization(), who, tensor);
  if (is_half) {
    read_halves(*data, who, tensor);
  } else {
    read_data(data, who, tensor);
  }
  return tensor;
}

void TensorReader::read_halves(const flatbuffers::Vector<std::uint8_t>& data, std::string_view who,
                               ModelTensor& tensor) const {
  const auto count = static_cast<std::size_t>(tensor.size());
  if (data.size() != 2 * count) {
    fail_tflite("{}: {} bytes of data, but its shape [{}] of float16 needs {}", who, data.size(),
                fmt::join(tensor.shape, ", "), 2 * count);
  }
  budget_->take(count * sizeof(float));
  tensor.data.resize(count * sizeof(float));
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, data.data() + 2 * i, sizeof(half));
    const float value = float_of_half(half);
    std::memcpy(tensor.data.data() + sizeof(float) * i, &value, sizeof(value));
  }
}

void TensorReader::read_data(const flatbuffers::Vector<std::uint8_t>* data, std::string_view who,
                             ModelTensor& tensor) const {
  const std::size_t found = size_or_zero(data);
  if (found == 0) return;
  const auto count = static_cast<std::size_t>(tensor.size());
  const bool packed = tensor.stored_bits != 8;
  const std::size_t expected =
      packed ? packed_bytes(count, tensor.stored_bits) : count * size_of(tensor.dtype);
  if (found != expected) {
    fail_tflite(
        "{}: {} bytes of data, but its shape [{}] of {} needs {}", who, found,
        fmt::join(tensor.shape, ", "),
        packed ? fmt::format("int{}", tensor.stored_bits) : std::string(to_string(tensor.dtype)),
        expected);
  }
  // Packed codes are unpacked beside their place.
  budget_->take(packed ? 2 * count : found);
  tensor.data.assign(data->begin(), data->end());
  if (!packed) return;
  const std::vector<std::int8_t> codes = unpack_codes(tensor.data, tensor.stored_bits, count);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(codes.data());
  tensor.data.assign(bytes, bytes + codes.size());
}

void TensorReader::read_quantization(const tflite::QuantizationParameters& source,
                                     std::string_view who, ModelTensor& tensor) const {
  if (source.details_type() != tflite::QuantizationDetails::NONE) {
    fail_tflite("{}: custom quantization is not supported", who);
  }
  const std::size_t count = size_or_zero(source.scale());
  // Floats that are marked with the range of their later codes are floats all the same.
  if (count == 0 || tensor.dtype == DType::float32) return;
  QuantParams& q = tensor.quantization;
  q.scales = read_values(source.scale(), count, who, *budget_);
  q.quantized_dimension = source.quantized_dimension();
  // With one scale the axis means nothing, and runtimes do not look at it.
  const auto rank = static_cast<std::int32_t>(tensor.shape.size());
  if (count == 1 && (q.quantized_dimension < 0 || q.quantized_dimension >= rank)) {
    q.quantized_dimension = 0;
  }
  std::tie(q.qmin, q.qmax) = integer_limits(tensor.dtype);
  const auto zero_points = read_values(source.zero_point(), count, who, *budget_);
  if (zero_points.size() > 1 && zero_points.size() != count) {
    fail_tflite("{}: {} zero points for {} scales", who, zero_points.size(), count);
  }
  // None stands for zeros, one for all.
  budget_->take(count * sizeof(std::int32_t));
  q.zero_points.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t zero_point =
        zero_points.empty() ? 0 : zero_points[std::min(i, zero_points.size() - 1)];
    if (zero_point < q.qmin || zero_point > q.qmax) {
      fail_tflite("{}: zero point {} outside {}", who, zero_point, to_string(tensor.dtype));
    }
    q.zero_points.push_back(static_cast<std::int32_t>(zero_point));
  }
}

}  // namespace octet::detail
