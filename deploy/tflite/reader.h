#pragma once

#include <octet/runtime/integer_model.h>

#include <cstdint>
#include <filesystem>
#include <span>

namespace octet {

/// The model in a .tflite file, ours or another tool's, of one subgraph and the operators of
/// OpCode. Trusts nothing: structure, indices, shapes and sizes are checked before anything of
/// their size is allocated. Throws FormatError that names what is broken or not supported.
IntegerModel from_tflite(std::span<const std::uint8_t> bytes);

/// Maps `path` (IoError), then from_tflite(), whose errors get the file's name in front. The model
/// has its constants of its own: the file may change afterwards.
IntegerModel read_tflite(const std::filesystem::path& path);

}  // namespace octet
