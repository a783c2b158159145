#pragma once

#include <CLI/CLI.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace octet::command_line {

/// The exit code of a wrong command line.
inline constexpr int kUsageExit = 2;

/// A wrong command line that only the files named in it show. `what` begins with the option.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Parses a command line as app.parse() does. Words that nothing takes are an error that shows them
/// in the order in which they were typed, and the option or command that the first is close to;
/// they come before options that are missing, which may be what a mistyped one was meant to be.
/// Throws CLI::ParseError.
void parse(CLI::App& app, int argc, const char* const* argv);

/// Takes one of `names`, which help lists; the error of another text has the one that it is close
/// to.
CLI::Validator one_of(const std::vector<std::string>& names);

/// The command of `app` that is called so. Throws CLI::ParseError where none is.
CLI::App& command_named(CLI::App& app, const std::string& name);

}  // namespace octet::command_line
