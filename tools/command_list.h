#pragma once

#include <CLI/CLI.hpp>

// The commands of the tool. Each function adds one to `app`, which runs while the command line is
// parsed.

namespace octet::tools {

/// Refuses an empty name: a shell makes one of a variable that is not set.
CLI::Validator named();

void add_inspect(CLI::App& app);
void add_run(CLI::App& app);
void add_eval(CLI::App& app);
void add_predict(CLI::App& app, int& exit_code);
void add_export(CLI::App& app);
void add_import(CLI::App& app);
void add_search(CLI::App& app);
void add_report(CLI::App& app);
void add_compare(CLI::App& app);
/// Sets `exit_code` to 1 where the models differ.
void add_verify(CLI::App& app, int& exit_code);

}  // namespace octet::tools
