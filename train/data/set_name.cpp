#include <octet/train/data/set_name.h>

#include <nlohmann/json.hpp>

namespace octet {
namespace {

std::string as_utf8(const std::string& text) {
  using nlohmann::json;
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace))
      .get<std::string>();
}

}  // namespace

std::string set_name(const std::filesystem::path& path) {
  const std::filesystem::path whole = std::filesystem::weakly_canonical(path);
  return as_utf8(whole.has_filename() ? whole.filename().string() : whole.string());
}

}  // namespace octet
