#pragma once

#include <string>
#include <string_view>

namespace octet {

/// A command line as a POSIX shell takes it, every word quoted where it has to be.
std::string shell_command(int argc, const char* const* argv);

/// A command line with `flag` at its end unless it is there already, quoted for a POSIX shell: what
/// a program prints for its user to paste.
std::string resume_command(int argc, const char* const* argv, std::string_view flag);

}  // namespace octet
