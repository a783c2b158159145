#pragma once

#include <octet/runtime/integer_model.h>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace octet {

/// The model as a .tflite file (schema version 3): what TensorFlow Lite, LiteRT and TensorFlow Lite
/// Micro load. Equal models give equal bytes. An operator is written with the lowest
/// version that its types and options need. Throws FormatError where the model is not valid,
/// InvalidArgument where it does not fit into the 2 GiB that such a file may have.
std::vector<std::uint8_t> to_tflite(const IntegerModel& model);

/// Writes to_tflite(model) to `path`, which is replaced as a whole or not at all (IoError).
void write_tflite(const IntegerModel& model, const std::filesystem::path& path);

namespace detail {
/// to_tflite() with another limit, which the model's parts and the most that their tables can take
/// are compared with before anything is made.
std::vector<std::uint8_t> to_tflite_within(const IntegerModel& model, std::uint64_t max_bytes);
}  // namespace detail

}  // namespace octet
