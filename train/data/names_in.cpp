#include <octet/train/data/names_in.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace octet {

std::vector<std::string> names_in(const std::filesystem::path& path) {
  std::vector<std::string> names;
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(path, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    std::string name = entry->path().filename().string();
    if (!name.starts_with('.')) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

bool is_file(const std::filesystem::path& path) {
  std::error_code failure;
  return std::filesystem::is_regular_file(path, failure);
}

}  // namespace octet
