#include "pages.h"

#include <fmt/format.h>
#include <octet/command_line/parse.h>
#include <octet/command_line/text.h>

#include <map>
#include <string_view>
#include <vector>

namespace octet::tools {
namespace {

/// Options of an app, groups without a name of their own among them, help aside.
std::vector<const CLI::Option*> options_in(const CLI::App& app) {
  std::vector<const CLI::Option*> result;
  for (const CLI::Option* option : app.get_options()) result.push_back(option);
  for (const CLI::App* group : app.get_subcommands({})) {
    if (!group->get_name().empty()) continue;
    for (const CLI::Option* option : options_in(*group)) result.push_back(option);
  }
  return result;
}

std::vector<const CLI::App*> commands_in(const CLI::App& app) {
  std::vector<const CLI::App*> result;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_name().empty()) result.push_back(command);
  }
  return result;
}

bool is_flag(const CLI::Option& option) { return option.get_type_name().empty(); }

/// "--out, --output", or the name of what stands without dashes.
std::string names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  if (names.empty()) names.push_back(option.get_name());
  return fmt::format("{}", fmt::join(names, ", "));
}

/// "TEXT:{a,b}" of CLI11 is "{a,b}".
std::string type_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t brace = type.find('{');
  return brace == std::string::npos ? type : type.substr(brace);
}

/// The words that an option takes; empty where it takes others.
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = type_of(option);
  if (type.size() < 2 || type.front() != '{' || type.back() != '}') return {};
  return command_line::split_at_commas(std::string_view(type).substr(1, type.size() - 2));
}

/// A text as man(7) shows it: nothing of it is a request.
std::string troff(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool begins = i == 0 || text[i - 1] == '\n';
    if (begins && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  return result;
}

std::string man_option(const CLI::Option& option) {
  std::string text = fmt::format(".TP\n.B {}\n", troff(names_of(option)));
  if (!is_flag(option) && !option.get_positional()) {
    text =
        fmt::format(".TP\n.BR \"{}\" \" {}\"\n", troff(names_of(option)), troff(type_of(option)));
  }
  text += troff(option.get_description());
  if (!option.get_default_str().empty()) {
    text += troff(fmt::format(" [{}]", option.get_default_str()));
  }
  return text + "\n";
}

std::string man_options(const CLI::App& app) {
  std::vector<std::string> order;
  std::map<std::string, std::string> groups;
  for (const CLI::Option* option : options_in(app)) {
    const std::string group = option->get_positional() ? "Arguments" : option->get_group();
    if (group.empty()) continue;
    if (groups.find(group) == groups.end()) order.push_back(group);
    groups[group] += man_option(*option);
  }
  std::string text;
  for (const std::string& group : order) text += ".SS " + troff(group) + "\n" + groups[group];
  return text;
}

/// A text between single quotes of a shell, in an argument of zsh's _arguments.
std::string zsh_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else if (c == '[' || c == ']' || c == ':' || c == '\\') {
      result += std::string("\\") + c;
    } else {
      result += c == '\n' ? ' ' : c;
    }
  }
  return result;
}

std::string zsh_option(const CLI::Option& option, const std::string& name) {
  std::string text = fmt::format("'--{}[{}]", name, zsh_text(option.get_description()));
  if (!is_flag(option)) {
    const std::vector<std::string> choices = choices_of(option);
    text += fmt::format(":{}:", zsh_text(choices.empty() ? type_of(option) : "value"));
    text += choices.empty() ? "_files" : fmt::format("({})", fmt::join(choices, " "));
  }
  return text + "'";
}

}  // namespace

std::string man_page(CLI::App& app, const std::string& command) {
  const CLI::App& own = command.empty() ? app : command_line::command_named(app, command);
  const std::string name = command.empty() ? "octet" : "octet-" + command;
  std::string title = name;
  for (char& c : title) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  std::string description = own.get_description();
  std::string first = description.substr(0, description.find(". "));
  if (first.ends_with('.')) first.pop_back();
  std::string text = fmt::format(".TH {} 1 \"\" \"octet {}\" \"Octet\"\n.SH NAME\n{} \\- {}\n",
                                 troff(title), OCTET_VERSION, troff(name), troff(first));
  text += fmt::format(".SH SYNOPSIS\n.B octet{}{}\n[OPTIONS]", command.empty() ? "" : " ", command);
  for (const CLI::Option* option : options_in(own)) {
    if (option->get_positional()) text += " " + troff(option->get_name());
  }
  text +=
      fmt::format("\n.SH DESCRIPTION\n{}\n.SH OPTIONS\n{}", troff(description), man_options(own));
  if (!command.empty()) return text + ".SH SEE ALSO\n.BR octet (1)\n";
  text += ".SH COMMANDS\n";
  for (const CLI::App* one : commands_in(app)) {
    text += fmt::format(".TP\n.BR octet\\-{} (1)\n{}\n", troff(one->get_name()),
                        troff(one->get_description()));
  }
  return text;
}

std::string bash_completion(const CLI::App& app) {
  std::vector<std::string> commands;
  std::string values;
  std::string options;
  for (const CLI::App* command : commands_in(app)) {
    commands.push_back(command->get_name());
    std::vector<std::string> names;
    for (const CLI::Option* option : options_in(*command)) {
      const std::vector<std::string> choices = choices_of(*option);
      for (const std::string& name : option->get_lnames()) {
        names.push_back("--" + name);
        if (choices.empty()) continue;
        values += fmt::format("    '{} --{}') words='{}' ;;\n", command->get_name(), name,
                              fmt::join(choices, " "));
      }
    }
    options += fmt::format("      {}) words='{}' ;;\n", command->get_name(), fmt::join(names, " "));
  }
  return fmt::format(R"(# Completion of octet in bash, written by octet help --bash.
_octet() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W '{} --help --version' -- "$word")
    return
  fi
  case "${{COMP_WORDS[1]}} ${{COMP_WORDS[COMP_CWORD - 1]}}" in
    'help '*) words='{}' ;;
{}  esac
  if [ -z "$words" ] && [[ $word == -* ]]; then
    case "${{COMP_WORDS[1]}}" in
{}    esac
  fi
  if [ -n "$words" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}}
complete -o filenames -F _octet octet
)",
                     fmt::join(commands, " "), fmt::join(commands, " "), values, options);
}

std::string zsh_completion(const CLI::App& app) {
  std::string commands;
  std::string options;
  for (const CLI::App* command : commands_in(app)) {
    commands +=
        fmt::format("    '{}:{}'\n", command->get_name(), zsh_text(command->get_description()));
    options += fmt::format("  {})\n    _arguments", command->get_name());
    for (const CLI::Option* option : options_in(*command)) {
      for (const std::string& name : option->get_lnames()) {
        options += " \\\n      " + zsh_option(*option, name);
      }
    }
    options += " \\\n      '*:file:_files'\n    ;;\n";
  }
  return fmt::format(R"(#compdef octet
# Completion of octet in zsh, written by octet help --zsh.
if (( CURRENT == 2 )); then
  local -a commands=(
{}  )
  _describe command commands
  return
fi
local command=$words[2]
shift words
(( CURRENT-- ))
case $command in
{}esac
)",
                     commands, options);
}

}  // namespace octet::tools
