#include "show.h"

#include <nlohmann/json.hpp>

namespace octet::tools {

void show_json(const nlohmann::ordered_json& json) {
  constexpr int kIndent = 2;
  // A name that is not UTF-8 still prints.
  show("{}\n", json.dump(kIndent, ' ', /*ensure_ascii=*/true,
                         nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace octet::tools
