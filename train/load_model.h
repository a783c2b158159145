#pragma once

#include <octet/layers/model.h>
#include <octet/train/distributed/process_group.h>

#include <filesystem>

namespace octet {

/// The model, built and with all its tensors, of a checkpoint that a Trainer saved or of a file
/// that Model::save() wrote; no program has to build it first. As read_checkpoint(): from the
/// checkpoint before it where the newest is missing or damaged, with a warning. Throws IoError, or
/// FormatError where the file is broken or does not describe its model. Layers and quantizers of a
/// program's own are to be registered before (register_layer(), register_observer(),
/// register_scale_rule()).
Model load_model(const std::filesystem::path& path);
/// Loads a model on all ranks of a group, which all call it: rank 0 reads the file.
Model load_model(const std::filesystem::path& path, ProcessGroup& group);

}  // namespace octet
