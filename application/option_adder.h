#pragma once

#include <fmt/format.h>
#include <octet/command_line/numbers.h>
#include <octet/command_line/parse.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace octet::application {

/// Adds options of one kind each, to the group that was begun last.
struct Adder {
  CLI::App& app;

  void group(const char* name) const { app.option_defaults()->group(name); }
  void folder(const char* name, auto& value, const char* help, bool shows_default = false) const {
    const CLI::Validator is_named(
        [](const std::string& text) {
          return text.empty() ? "expected a folder, found an empty name" : "";
        },
        "");
    auto* option = app.add_option(name, value, help)->check(is_named)->type_name("DIR");
    if (shows_default) option->capture_default_str();
  }
  void number(const char* name, auto& value, const auto& range, const char* help) const {
    command_line::add_number(app, name, value, range, help)->default_str(fmt::format("{}", value));
  }
  void choice(const char* name, const std::vector<std::string>& choices, const char* chosen,
              const char* help, const std::function<void(const std::string&)>& take) const {
    app.add_option_function<std::string>(name, take, help)
        ->check(command_line::one_of(choices))
        ->default_str(chosen);
  }
  void flag(const char* name, bool& value, const char* help) const {
    app.add_flag(name, value, help)->disable_flag_override();
  }
};

}  // namespace octet::application
