#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace octet::test {

/// A word of a shell script.
struct ShellWord {
  /// Without its quotes; what the shell would put in is left as it is written: "$bin/octet".
  std::string text;
  /// Whether the shell puts nothing in, so that `text` is what a program sees.
  bool literal = true;
  /// Whether no part of it is quoted.
  bool plain = true;
};

/// A simple command: what stands before it (NAME=value) and redirections are left out.
struct ShellCommand {
  std::size_t line = 0;
  std::vector<ShellWord> words;
};

/// What can be run by a script: its commands wherever they stand, in functions and substitutions
/// too.
struct ShellScript {
  std::vector<ShellCommand> commands;
  std::set<std::string> functions;
  /// The words of every NAME=(...) and NAME+=(...), by name.
  std::map<std::string, std::vector<std::vector<ShellWord>>> arrays;
};

/// Reads a script in the syntax of bash or sh. Throws std::runtime_error, with the line, where it
/// does not understand it: a command must not be missed.
ShellScript parse_shell(std::string_view text);

}  // namespace octet::test
