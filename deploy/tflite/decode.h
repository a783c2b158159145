#pragma once

#include <octet/runtime/integer_model.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace octet::detail {

/// The version of the schema that .tflite files are written in, and the only one that is read.
inline constexpr std::uint32_t kSchemaVersion = 3;

/// The custom code of TensorFlow Lite Micro's operator that makes weights of indices and tables,
/// when a model is set up, in its arena: pairs of inputs (indices, tables), an output for each.
inline constexpr std::string_view kTflmDecode = "TFLM_DECODE";

/// A constant tensor as the two inputs of that operator: the stream of pack_indices(), and 16 bytes
/// that describe it with one table for all channels behind them. (tflite-micro,
/// decode_state_lut.cc.)
struct DecodeInputs {
  std::vector<std::uint8_t> indices;
  std::vector<std::uint8_t> tables;
};
DecodeInputs decode_inputs(const ModelTensor& tensor);

/// What the operator makes of its inputs for `output`, whose codes it sets, and decoded_bits to
/// what one table of them would take. There may be a table for each channel, of the first axis or
/// of the last. Throws FormatError for what the operator would refuse, or read beyond the end of.
void decode(std::span<const std::uint8_t> indices, std::span<const std::uint8_t> tables,
            std::string_view who, ModelTensor& output);

}  // namespace octet::detail
