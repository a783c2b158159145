#pragma once

#include <filesystem>
#include <string_view>

namespace octet {

/// A name for a temporary file in the folder of `path` that nobody else uses: it tells the machine,
/// its start, the process, the process's start, and a count.
std::filesystem::path temporary_name(const std::filesystem::path& path);

/// Who writes, or wrote, the file of a name.
enum class TemporaryOf {
  nobody,     ///< not a name that temporary_name() makes
  living,     ///< a process of this machine
  dead,       ///< one that has ended; a later one of the same number does not count
  elsewhere,  ///< one of another machine or container, of which nothing is known
};
TemporaryOf temporary_of(std::string_view name);

}  // namespace octet
