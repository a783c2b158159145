#include <octet/train/data/set_name.h>

#include <nlohmann/json.hpp>
#include <system_error>

namespace octet {
namespace {

std::string as_utf8(const std::string& text) {
  using nlohmann::json;
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace))
      .get<std::string>();
}

}  // namespace

std::string set_name(const std::filesystem::path& path) {
  std::error_code failure;
  std::filesystem::path whole = std::filesystem::weakly_canonical(path, failure);
  // A file that has no path, open in this process alone, is read through one nevertheless.
  if (failure) whole = path;
  return as_utf8(whole.has_filename() ? whole.filename().string() : whole.string());
}

}  // namespace octet
