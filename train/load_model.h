#pragma once

#include <octet/layers/sequential.h>

#include <filesystem>

namespace octet {

/// The model, built and with all its tensors, of a checkpoint that a Trainer saved or of a file
/// that Sequential::save() wrote; no program has to build it first. As read_checkpoint(): from the
/// checkpoint before it where the newest is missing or damaged, with a warning. Throws IoError, or
/// FormatError where the file is broken or does not describe its model: layers and quantizers of a
/// program's own cannot be described.
Sequential load_model(const std::filesystem::path& path);

}  // namespace octet
