// Trains an MLP on MNIST in float, continues with quantization in the loop, and exports int8.

#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/log.h>
#include <octet/core/parallel.h>
#include <octet/core/printable.h>

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "options.h"
#include "report.h"
#include "run.h"

namespace {

using namespace octet;

constexpr int kFailure = 1;
constexpr int kSignalExit = 128;
/// Messages quote names from files.
constexpr std::size_t kMostOfMessage = 2000;

std::atomic<bool> stop_requested{false};
std::atomic<int> stop_signal{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

/// The first signal ends the run after the current step, the second one ends it at once. A second
/// SIGHUP does not: a terminal that closes may send one and its shell another.
extern "C" void handle_stop(int signal) {
  int none = 0;
  if (stop_signal.compare_exchange_strong(none, signal)) {
    stop_requested = true;
  } else if (signal != SIGHUP) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

/// A signal that the caller had ignored, as nohup does, stays ignored.
void handle_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (std::signal(signal, handle_stop) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
  // A file past the limit (ulimit -f) is an error of write(), which names the file.
  std::signal(SIGXFSZ, SIG_IGN);
}

/// On stderr, or nowhere: its terminal may have gone.
void complain(const std::string& text) { static_cast<void>(std::fputs(text.c_str(), stderr)); }

/// A word as a shell takes it.
std::string quoted(std::string_view word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,./:@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) {
    return std::string(word);
  }
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

std::string command_line(int argc, char** argv) {
  std::string text;
  bool resumes = false;
  for (int i = 0; i < argc; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : " ", quoted(argv[i]));
    resumes = resumes || std::string(argv[i]) == "--resume";
  }
  return resumes ? text : text + " --resume";
}

int run_program(const mnist::Options& options, const std::string& resume_command) {
  set_log_level(parse_log_level(options.log_level));
  kernels();  // Throws where OCTET_ISA names none.
  if (options.threads > 0) set_num_threads(options.threads);
  std::FILE* screen = options.json ? stderr : stdout;
  const auto results = mnist::run(options, screen, stop_requested);
  if (!results) {
    complain(fmt::format("\nstopped; everything up to this step is in {}\nto go on: {}\n",
                         mnist::checkpoint_path(options).string(), resume_command));
    return kSignalExit + stop_signal;
  }
  write_file_atomic(options.out / "history.csv", history_csv(results->history));
  write_file_atomic(mnist::metrics_path(options), mnist::metrics_json(options, *results, 2));
  mnist::show(screen, mnist::final_report(options, *results));
  if (options.json) mnist::show(stdout, mnist::metrics_json(options, *results, -1));
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw IoError("cannot write to standard output: is the disk full? All files are in " +
                  options.out.string());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto [options, exit_code] = mnist::parse_options(argc, argv);
  if (!options) return exit_code;
  handle_signals();
  try {
    return run_program(*options, command_line(argc, argv));
  } catch (const std::bad_alloc&) {
    complain("mnist_qat: out of memory; try a smaller --hidden or --batch\n");
    return kFailure;
  } catch (const std::exception& error) {
    complain(fmt::format("mnist_qat: {}\n", printable(error.what(), kMostOfMessage)));
    return kFailure;
  }
}
