#pragma once

#include <octet/core/archive.h>

#include <filesystem>

namespace octet {

/// A checkpoint and the file that it was read from.
struct CheckpointFile {
  Archive archive;
  std::filesystem::path path;
};

/// The newest whole checkpoint that Trainer::save_checkpoint(path) wrote: `path`, or where that is
/// missing or damaged the one before it, previous_file(path), with a warning in the log. Throws
/// IoError or FormatError where neither is whole.
CheckpointFile read_checkpoint(const std::filesystem::path& path);

/// The checkpoint with every time in it set to 0: equal runs give equal bytes. Throws FormatError
/// for an archive that is no checkpoint.
Archive without_times(const Archive& checkpoint);

}  // namespace octet
