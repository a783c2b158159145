#include "text.h"

#include <octet/core/file.h>

#include <algorithm>
#include <cstdint>

namespace octet::command_line {

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

NameAndValue name_and_value(const std::string& text) {
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos) return {};
  return {text.substr(0, at), text.substr(at + 1)};
}

std::string read_text(const std::filesystem::path& file) {
  const std::vector<std::uint8_t> bytes = read_file(file);
  return {bytes.begin(), bytes.end()};
}

}  // namespace octet::command_line
