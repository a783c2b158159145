#pragma once

#include <octet/runtime/integer_model.h>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace octet {

/// How a .tflite file holds the states that keep_states() named.
enum class TfliteStates {
  inputs_and_outputs,  ///< as the model has them; the caller gives each input what the output was
  variables            ///< as resource variables, which the runtime keeps, and which begin at 0
};

/// The model as a .tflite file (schema version 3): what TensorFlow Lite, LiteRT and TensorFlow Lite
/// Micro load. Equal models give equal bytes. An operator is written with the lowest
/// version that its types and options need. The states of SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM
/// are variable tensors, in whichever form other states are. Throws FormatError where the model is
/// not valid, InvalidArgument where it does not fit into the 2 GiB that such a file may have, where
/// such an operator has other states than keep_states() named, and for `variables` where that named
/// none.
std::vector<std::uint8_t> to_tflite(const IntegerModel& model,
                                    TfliteStates states = TfliteStates::inputs_and_outputs);

/// Writes to_tflite(model, states) to `path`, which is replaced as a whole or not at all (IoError).
void write_tflite(const IntegerModel& model, const std::filesystem::path& path,
                  TfliteStates states = TfliteStates::inputs_and_outputs);

namespace detail {
/// to_tflite() with another limit, which the model's parts and the most that their tables can take
/// are compared with before anything is made.
std::vector<std::uint8_t> to_tflite_within(const IntegerModel& model, std::uint64_t max_bytes,
                                           TfliteStates states = TfliteStates::inputs_and_outputs);
}  // namespace detail

}  // namespace octet
