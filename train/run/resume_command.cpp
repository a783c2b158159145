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

std::string shell_command(int argc, const char* const* argv) {
  std::string text;
  for (int i = 0; i < argc; ++i) {
    if (i > 0) text += ' ';
    text += shell_word(argv[i]);
  }
  return text;
}

std::string resume_command(int argc, const char* const* argv, std::string_view flag) {
  const std::string text = shell_command(argc, argv);
  bool resumes = false;
  for (int i = 0; i < argc; ++i) resumes = resumes || argv[i] == flag;
  return resumes ? text : text + ' ' + shell_word(flag);
}

}  // namespace octet
