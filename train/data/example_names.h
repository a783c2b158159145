#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace octet {

/// What reports call the example in a row: see Dataset::with_example_names().
using ExampleNames = std::function<std::string(std::size_t row)>;

/// "NAME, line N" for each of the lines of a file.
ExampleNames names_by_line(const std::filesystem::path& file, std::vector<std::uint32_t> lines);

/// "NAME, row N" for the rows of an array.
ExampleNames names_by_row(const std::filesystem::path& file);

/// The paths of files as seen from a folder.
ExampleNames names_of_files(const std::filesystem::path& folder,
                            const std::vector<std::filesystem::path>& files);

}  // namespace octet
