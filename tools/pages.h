#pragma once

#include <CLI/CLI.hpp>
#include <string>

// Texts that are made of the tables of options: manual pages, and completion of command lines.

namespace octet::tools {

/// A manual page, section 1, in the macros of man(7): that of a command of `app`, or of the program
/// with all its commands where `command` is empty. Throws CLI::ParseError for another command.
std::string man_page(CLI::App& app, const std::string& command);

/// A script that completes commands, options and what they take in bash or zsh.
std::string bash_completion(const CLI::App& app);
std::string zsh_completion(const CLI::App& app);

}  // namespace octet::tools
