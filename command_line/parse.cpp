#include <fmt/format.h>
#include <octet/command_line/parse.h>
#include <octet/train/run/resume_command.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace octet::command_line {
namespace {

/// How many letters to add, remove, replace or swap with the next turn one word into the other.
std::size_t edits_between(std::string_view a, std::string_view b) {
  // Rows of the table of prefixes of `a` (rows) and `b`: the last two and the one in work.
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1, i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    before_last = std::exchange(last, std::move(row));
  }
  return last.back();
}

/// "; did you mean NAME?" with the nearest of `names` where one is near enough, else nothing.
std::string suggestion(std::string_view word, const std::vector<std::string>& names) {
  constexpr std::size_t kMostOfWord = 40;
  if (word.size() > kMostOfWord) return "";
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  std::string nearest;
  for (const std::string& name : names) {
    const std::size_t edits = edits_between(word, name);
    if (edits >= least) continue;
    least = edits;
    nearest = name;
  }
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

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
                       suggestion(first.substr(0, first.find('=')), options_of(app)));
  } else {
    text = fmt::format("there is no command '{}'{}", first, suggestion(first, commands));
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

CLI::App& command_named(CLI::App& app, const std::string& name) {
  const std::vector<std::string> names = commands_of(app);
  if (std::ranges::find(names, name) == names.end()) throw unexpected(app, {name});
  return *app.get_subcommand(name);
}

}  // namespace octet::command_line
