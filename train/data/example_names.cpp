#include <fmt/core.h>
#include <octet/core/utf8.h>
#include <octet/train/data/example_names.h>
#include <octet/train/data/set_name.h>

#include <memory>
#include <utility>

namespace octet {

ExampleNames names_by_line(const std::filesystem::path& file, std::vector<std::uint32_t> lines) {
  return [name = set_name(file),
          kept = std::make_shared<const std::vector<std::uint32_t>>(std::move(lines))](
             std::size_t row) { return fmt::format("{}, line {}", name, (*kept)[row]); };
}

ExampleNames names_by_row(const std::filesystem::path& file) {
  return [name = set_name(file)](std::size_t row) { return fmt::format("{}, row {}", name, row); };
}

ExampleNames names_of_files(const std::filesystem::path& folder,
                            const std::vector<std::filesystem::path>& files) {
  std::vector<std::string> names;
  names.reserve(files.size());
  for (const std::filesystem::path& file : files) {
    names.push_back(detail::as_utf8(file.lexically_relative(folder).string()));
  }
  return [kept = std::make_shared<const std::vector<std::string>>(std::move(names))](
             std::size_t row) { return (*kept)[row]; };
}

}  // namespace octet
