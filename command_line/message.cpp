#include <fmt/core.h>
#include <octet/command_line/message.h>
#include <octet/core/error.h>
#include <octet/core/printable.h>

#include <algorithm>
#include <cstdio>

namespace octet::command_line {

std::string one_line(std::string message) {
  constexpr std::size_t kMost = 2000;
  std::ranges::replace(message, '\n', ' ');
  return printable(message, kMost);
}

void flush_output(std::string_view more) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw IoError(fmt::format(
      "cannot write to standard output: is the disk full, or has its reader ended?{}", more));
}

}  // namespace octet::command_line
