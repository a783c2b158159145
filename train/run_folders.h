#pragma once

#include <filesystem>
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
/// at once would overwrite each other's files; not locked where the file system has no locks. A
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
  std::vector<Lock> locks_;
};

}  // namespace octet
