#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace octet {

/// The names of what is in a folder, sorted by bytes, without hidden ones, which begin with a
/// point; none where `path` is no folder that can be read.
std::vector<std::string> names_in(const std::filesystem::path& path);

/// Whether `path` is a file, or a link to one; false also where that cannot be told.
bool is_file(const std::filesystem::path& path);

}  // namespace octet
