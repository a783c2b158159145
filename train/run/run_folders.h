#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace octet {

/// A folder, and what errors call it: the option of a program that names it, for example.
struct NamedFolder {
  std::string name;
  std::filesystem::path path;
};

/// The folders that one run writes to: made where they are missing, and rid of the temporary files
/// of processes that died. Each is locked (flock) as long as this object lives, because two runs
/// at once would overwrite each other's files; not locked where the file system has no locks. Those
/// that were made and are empty at the end are removed: a run that was refused leaves nothing. A
/// folder may be named twice.
class RunFolders {
 public:
  /// Throws IoError that names the folder where it cannot be made or written to, or where another
  /// run has locked it.
  explicit RunFolders(const std::vector<NamedFolder>& folders);
  ~RunFolders();
  RunFolders(const RunFolders&) = delete;
  RunFolders& operator=(const RunFolders&) = delete;

 private:
  class Lock;
  class Made;
  std::vector<Lock> locks_;
  /// Goes first, while the folders are locked.
  std::unique_ptr<Made> made_;
};

}  // namespace octet
