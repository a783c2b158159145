#pragma once

#include <octet/layers/model.h>

#include <filesystem>

namespace octet {

/// The model, built and with all its tensors, of a checkpoint that a Trainer saved or of a file
/// that Model::save() wrote; no program has to build it first. As read_checkpoint(): from the
/// checkpoint before it where the newest is missing or damaged, with a warning. Throws IoError, or
/// FormatError where the file is broken or does not describe its model: layers and quantizers of a
/// program's own cannot be described.
Model load_model(const std::filesystem::path& path);

}  // namespace octet
