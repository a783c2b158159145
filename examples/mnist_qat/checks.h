#pragma once

#include <octet/train/dataset.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "options.h"

namespace octet::mnist {

// What would go wrong late is told before the training starts.

/// --resume needs a checkpoint, or the one before it. Throws InvalidArgument.
void check_checkpoint_is_there(const Options& options);

/// Weights, gradients and Adam's moments, and a batch of activations, have to fit into this
/// machine's memory, and the weights into a .tflite file. Throws InvalidArgument.
void check_memory(const Options& options, const Dataset& train);

/// A run that begins anew must not destroy the checkpoint of one that was stopped. Where
/// metrics.json does not tell that the run of last.ckpt came to its end, that checkpoint and the
/// one before it are renamed to stopped.ckpt and stopped.ckpt.1, which replaces those of a run that
/// was stopped earlier. Returns the new name. Throws IoError.
std::optional<std::filesystem::path> keep_stopped_run(const Options& options);

/// The folders of --out and --checkpoint-dir, made where they are missing and rid of what dead runs
/// left unfinished. Locked as long as this object lives: two runs at once would replace each
/// other's files. Throws IoError that names the option and the folder.
class OutputFolders {
 public:
  explicit OutputFolders(const Options& options);
  ~OutputFolders();
  OutputFolders(const OutputFolders&) = delete;
  OutputFolders& operator=(const OutputFolders&) = delete;

 private:
  void lock(const char* option, const std::filesystem::path& folder);

  std::vector<int> handles_;
};

}  // namespace octet::mnist
