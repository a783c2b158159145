#pragma once

#include <octet/core/printable.h>
#include <octet/runtime/interpreter.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>

namespace octet::tools {

// Each adds one command to `app`; the command runs while the command line is parsed.
void add_inspect(CLI::App& app);
void add_run(CLI::App& app);
void add_eval(CLI::App& app);
void add_export(CLI::App& app);
/// Sets `exit_code` to 1 where the models differ.
void add_verify(CLI::App& app, int& exit_code);

/// Refuses an empty name: a shell makes one of a variable that is not set.
CLI::Validator named();

/// Bytes of a warning that are printed; names in it may be long.
inline constexpr std::size_t kMostOfWarning = 600;

/// How a model is run: the options that `run` and `eval` share.
struct RunOptions {
  std::string file;
  std::string rounding;
  int threads = 0;

  void add_to(CLI::App& command);
  /// Reads the file and makes it ready for batches of `batch`.
  Interpreter open(Index batch) const;
};

/// Batches for `samples` samples: as many at a time as are quick to run and no burden to hold.
void resize_for(Interpreter& interpreter, std::size_t samples);

}  // namespace octet::tools
