#pragma once

#include <fmt/core.h>
#include <octet/core/printable.h>

#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <utility>

// All that the commands print: names, and messages that quote them, may come from foreign files.

namespace octet::tools {

template <class... Args>
void show(fmt::format_string<Args...> text, Args&&... args) {
  print_text(stdout, fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args>
void show_error(fmt::format_string<Args...> text, Args&&... args) {
  print_text(stderr, fmt::format(text, std::forward<Args>(args)...));
}

/// JSON of ASCII alone: other characters are escaped, which keeps every name whole.
void show_json(const nlohmann::ordered_json& json);

}  // namespace octet::tools
