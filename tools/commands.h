#pragma once

#include <octet/deploy/interpreter.h>

#include <CLI/CLI.hpp>
#include <string>

namespace octet::tools {

// Each adds one command to `app`; the command runs while the command line is parsed.
void add_inspect(CLI::App& app);
void add_run(CLI::App& app);
void add_eval(CLI::App& app);
void add_export(CLI::App& app);

/// How a model is run: the options that `run` and `eval` share.
struct RunOptions {
  std::string file;
  std::string rounding;
  int threads = 0;

  void add_to(CLI::App& command);
  /// Reads the file and makes it ready for batches of `batch`.
  Interpreter open(Index batch) const;
};

}  // namespace octet::tools
