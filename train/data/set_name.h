#pragma once

#include <filesystem>
#include <string>

namespace octet {

/// The name of a data set that is read from `path`, a file or a folder: the last part of it. Names
/// go into checkpoints and metrics, which are UTF-8, and those of files are any bytes: those that
/// are no UTF-8 are replaced by U+FFFD.
std::string set_name(const std::filesystem::path& path);

}  // namespace octet
