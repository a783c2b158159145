#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace octet::command_line {

/// The words of a text with commas between; of an empty one, one that is empty.
std::vector<std::string> split_at_commas(std::string_view text);

/// What stands in front of the last '=' of a text, and behind it: names may hold the sign. Both are
/// empty where there is none.
struct NameAndValue {
  std::string name;
  std::string value;
};
NameAndValue name_and_value(const std::string& text);

/// A file as text. Throws as read_file().
std::string read_text(const std::filesystem::path& file);

}  // namespace octet::command_line
