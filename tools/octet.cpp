// The `octet` command line tool. Exit codes: 0 done, 1 failed (verify: or the models
// differ), 2 wrong usage.

#include <fmt/format.h>
#include <octet/core/error.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "commands.h"

namespace {

/// Messages quote names from files and what the user typed.
std::string one_line(std::string text) {
  constexpr std::size_t kMost = 2000;
  std::replace(text.begin(), text.end(), '\n', ' ');
  return octet::printable(text, kMost);
}

/// Parses and runs; the exit code.
int run_tool(int argc, char** argv) {
  CLI::App app("Looks into, runs, scores and compares models in integer arithmetic.", "octet");
  app.set_version_flag("--version", "octet " OCTET_VERSION);
  octet::tools::add_inspect(app);
  octet::tools::add_run(app);
  octet::tools::add_eval(app);
  octet::tools::add_export(app);
  int exit_code = 0;
  // A file past the limit (ulimit -f) is an error of write(), which names the file.
  std::signal(SIGXFSZ, SIG_IGN);
  octet::tools::add_verify(app, exit_code);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) throw CLI::RequiredError("A command");
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      throw octet::IoError("cannot write to standard output: is the disk full?");
    }
    return exit_code;
  } catch (const CLI::Success& request) {
    return app.exit(request);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "octet: {} (see octet --help)\n", one_line(error.what()));
    return 2;
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_tool(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("octet: out of memory\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "octet: %s\n", one_line(error.what()).c_str());
  }
  return 1;
}
