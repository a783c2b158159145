#include <octet/core/quant/code_table.h>
#include <octet/deploy/tflite/budget.h>
#include <octet/deploy/tflite/decode.h>

#include <utility>

namespace octet::detail {
namespace {

/// Places in the first 16 bytes of the tables, and what they say; others are 0.
constexpr std::size_t kType = 0;  // 0: indices and tables
constexpr std::size_t kVersion = 1;
constexpr std::size_t kTableVersion = 4;
constexpr std::size_t kBits = 5;
constexpr std::size_t kStride = 6;  // from a channel's table to the next; 0: one for all
constexpr std::size_t kHeader = 16;
constexpr std::uint8_t kBitsMask = 7;

struct Channels {
  std::size_t count = 1;
  /// Elements of a channel that lie together.
  std::size_t run = 0;

  std::size_t of(std::size_t element) const { return element / run % count; }
};

Channels channels_of(const ModelTensor& output, std::size_t elements, std::string_view who) {
  const QuantParams& q = output.quantization;
  const std::size_t count = output.is_quantized() ? q.scales.size() : 1;
  if (count <= 1) return {1, elements};
  const auto axis = static_cast<std::size_t>(q.quantized_dimension);
  if (axis + 1 == output.shape.size()) return {count, 1};
  if (axis != 0 || elements % count != 0) {
    fail_tflite("{}: expected channels on the first or the last axis", who);
  }
  return {count, elements / count};
}

}  // namespace

DecodeInputs decode_inputs(const ModelTensor& tensor) {
  const std::span codes(reinterpret_cast<const std::int8_t*>(tensor.data.data()),
                        tensor.data.size());
  const std::vector<std::int8_t> table = table_of(codes, tensor.decoded_bits);
  DecodeInputs inputs;
  inputs.tables.resize(kHeader);
  inputs.tables[kVersion] = inputs.tables[kTableVersion] = 1;
  inputs.tables[kBits] = static_cast<std::uint8_t>(tensor.decoded_bits);
  for (const std::int8_t value : table) inputs.tables.push_back(static_cast<std::uint8_t>(value));
  inputs.indices = pack_indices(codes, table, tensor.decoded_bits);
  return inputs;
}

void decode(std::span<const std::uint8_t> indices, std::span<const std::uint8_t> tables,
            std::string_view who, ModelTensor& output) {
  if (output.dtype != DType::int8 || output.is_constant()) {
    fail_tflite("{}: expected an output of int8 without data", who);
  }
  if (tables.size() < kHeader || tables[kType] != 0 || tables[kVersion] != 1) {
    fail_tflite("{}: expected tables of type 0, version 1", who);
  }
  const int bits = tables[kBits] & kBitsMask;
  const auto count = static_cast<std::size_t>(output.size());
  if (bits == 0 || count == 0 || indices.size() < index_bytes(count, bits)) {
    fail_tflite("{}: expected indices of 1 to 7 bits for {} elements, found {} bytes of {} bits",
                who, count, indices.size(), bits);
  }
  const Channels channels = channels_of(output, count, who);
  const std::span values = tables.subspan(kHeader);
  std::vector<std::uint8_t> data(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place = channels.of(i) * tables[kStride] + index_at(indices, i, bits);
    if (place >= values.size()) fail_tflite("{}: an index lies outside of its table", who);
    data[i] = values[place];
  }
  // Tables for each channel may have more values between them than one of ours.
  const int needed =
      bits_of_table({reinterpret_cast<const std::int8_t*>(data.data()), data.size()});
  output.decoded_bits = needed < 8 ? needed : 0;
  output.data = std::move(data);
}

}  // namespace octet::detail
