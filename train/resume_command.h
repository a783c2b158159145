#pragma once

#include <string>
#include <string_view>

namespace octet {

/// The command line of this process as a POSIX shell takes it, every word quoted where it has to
/// be, with `flag` at its end unless it is there already: what a program prints for its user to
/// paste.
std::string resume_command(int argc, const char* const* argv, std::string_view flag);

}  // namespace octet
