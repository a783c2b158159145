#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace octet::tools {

/// A folder of this program's own that goes with it.
class TemporaryFolder {
 public:
  /// Throws IoError.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// The files that a program reads and writes; an empty name is /dev/null.
struct ProcessFiles {
  std::filesystem::path in;
  std::filesystem::path out;
  std::filesystem::path err;
};

/// Runs a program, found as a shell finds it, and waits for it. Its exit code, 128 + the signal
/// that ended it, or none where there is no such program. Throws IoError where it cannot be
/// started for another reason.
std::optional<int> run_process(std::vector<std::string> arguments, const ProcessFiles& files);

}  // namespace octet::tools
