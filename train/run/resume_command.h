#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// A command line as a POSIX shell takes it, every word quoted where it has to be.
std::string shell_command(int argc, const char* const* argv);

std::string shell_command(const std::vector<std::string>& words);

/// The words of a command line that shell_command() wrote.
std::vector<std::string> words_of_command(std::string_view command);

/// A command line with `flag` at its end unless it is there already, quoted for a POSIX shell: what
/// a program prints for its user to paste.
std::string resume_command(int argc, const char* const* argv, std::string_view flag);

}  // namespace octet
