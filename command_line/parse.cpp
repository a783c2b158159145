#include <fmt/format.h>
#include <octet/command_line/parse.h>
#include <octet/core/did_you_mean.h>
#include <octet/core/printable.h>
#include <octet/train/run/resume_command.h>

#include <algorithm>
#include <string>
#include <vector>

namespace octet::command_line {
namespace {

/// Groups of options are commands without a name.
std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_name().empty()) names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* group : app.get_subcommands({})) {
    if (!group->get_name().empty()) continue;
    for (std::string& name : options_of(*group)) names.push_back(std::move(name));
  }
  return names;
}

/// The error of words that `app` takes none of.
CLI::ExtrasError unexpected(const CLI::App& app, const std::vector<std::string>& words) {
  const std::string& first = words.front();
  const std::vector<std::string> commands = commands_of(app);
  std::string text;
  if (commands.empty() || first.starts_with('-')) {
    std::vector<const char*> typed;
    typed.reserve(words.size());
    for (const std::string& word : words) typed.push_back(word.c_str());
    text = fmt::format("not expected: {}{}",
                       shell_command(static_cast<int>(typed.size()), typed.data()),
                       did_you_mean(first.substr(0, first.find('=')), options_of(app)));
  } else {
    text = fmt::format("there is no command '{}'{}", first, did_you_mean(first, commands));
  }
  return {text, CLI::ExitCodes::ExtrasError};
}

}  // namespace

void parse(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> words = app.remaining(true);
    const auto kind = static_cast<CLI::ExitCodes>(error.get_exit_code());
    const bool about_words =
        kind == CLI::ExitCodes::ExtrasError || kind == CLI::ExitCodes::RequiredError;
    if (words.empty() || !about_words) throw;
    const auto chosen = app.get_subcommands();
    throw unexpected(chosen.empty() ? app : *chosen.front(), words);
  }
}

CLI::Validator one_of(const std::vector<std::string>& names) {
  CLI::Validator validator(fmt::format("{{{}}}", fmt::join(names, ",")));
  validator.operation([names](std::string& text) -> std::string {
    if (std::ranges::find(names, text) != names.end()) return "";
    return fmt::format("expected one of {}, found {}{}", fmt::join(names, ", "), printable(text),
                       did_you_mean(text, names));
  });
  return validator;
}

CLI::App& command_named(CLI::App& app, const std::string& name) {
  const std::vector<std::string> names = commands_of(app);
  if (std::ranges::find(names, name) == names.end()) throw unexpected(app, {name});
  return *app.get_subcommand(name);
}

}  // namespace octet::command_line
