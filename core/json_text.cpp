#include <octet/core/json_text.h>

namespace octet::detail {
namespace {

using nlohmann::json;

constexpr int kMostLevels = 32;

}  // namespace

json parse_json(std::string_view text) {
  return json::parse(text, [](int depth, json::parse_event_t /*event*/, json& /*value*/) {
    if (depth > kMostLevels) {
      throw FormatError(fmt::format("JSON nested deeper than {} levels", kMostLevels));
    }
    return true;
  });
}

}  // namespace octet::detail
