#pragma once

#include <octet/core/archive.h>
#include <octet/train/distributed/process_group.h>

#include <filesystem>
#include <string>
#include <vector>

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
/// Reads a checkpoint on all ranks of a group, which all call it: rank 0 reads the file.
CheckpointFile read_checkpoint(const std::filesystem::path& path, ProcessGroup& group);

/// The checkpoint with every time in it set to 0, also in the notes named in `history_notes`, which
/// hold history_json(): equal runs give equal bytes. Throws FormatError for an archive that is no
/// checkpoint.
Archive without_times(const Archive& checkpoint,
                      const std::vector<std::string>& history_notes = {});

}  // namespace octet
