#include <octet/core/utf8.h>
#include <octet/train/data/set_name.h>

#include <system_error>

namespace octet {

std::string set_name(const std::filesystem::path& path) {
  std::error_code failure;
  std::filesystem::path whole = std::filesystem::weakly_canonical(path, failure);
  // A file that has no path, open in this process alone, is read through one nevertheless.
  if (failure) whole = path;
  return detail::as_utf8(whole.has_filename() ? whole.filename().string() : whole.string());
}

}  // namespace octet
