#include <octet/train/run/resume_command.h>

namespace octet {
namespace {

std::string shell_word(std::string_view word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,./:@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) {
    return std::string(word);
  }
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

}  // namespace

std::string shell_command(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    text += shell_word(word);
  }
  return text;
}

std::string shell_command(int argc, const char* const* argv) {
  return shell_command(std::vector<std::string>(argv, argv + argc));
}

std::vector<std::string> words_of_command(std::string_view command) {
  std::vector<std::string> words;
  bool in_quotes = false;
  bool in_word = false;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (c == ' ' && !in_quotes) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == '\'') {
      in_quotes = !in_quotes;
    } else if (c == '\\' && !in_quotes && i + 1 < command.size()) {
      words.back() += command[++i];
    } else {
      words.back() += c;
    }
  }
  return words;
}

std::string resume_command(int argc, const char* const* argv, std::string_view flag) {
  const std::string text = shell_command(argc, argv);
  bool resumes = false;
  for (int i = 0; i < argc; ++i) resumes = resumes || argv[i] == flag;
  return resumes ? text : text + ' ' + shell_word(flag);
}

}  // namespace octet
