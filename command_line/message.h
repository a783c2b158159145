#pragma once

#include <string>
#include <string_view>

namespace octet::command_line {

/// `message` as a program may print it behind its name, in one line of at most 2000 bytes: messages
/// quote names from files and what the user typed. Line feeds become spaces; see printable().
std::string one_line(std::string message);

/// Flushes standard output. Throws IoError, with `more` at its end, where not all that was printed
/// has been written.
void flush_output(std::string_view more = "");

}  // namespace octet::command_line
