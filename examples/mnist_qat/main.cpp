// Trains a network on MNIST in float, continues with quantization in the loop, and exports int8.

#include <fmt/format.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/printable.h>

#include <exception>
#include <new>

#include "train.h"

namespace {

using namespace octet;

constexpr int kFailure = 1;
constexpr int kSignalExit = 128;
/// Messages quote names from files.
constexpr std::size_t kMostOfMessage = 2000;

int run_program(const mnist::Options& options, const std::string& resume_command) {
  const StopSignals signals;
  set_log_level(parse_log_level(options.log_level));
  kernels();  // Throws where OCTET_ISA names none.
  if (options.threads > 0) set_num_threads(options.threads);
  if (!mnist::train(options, options.json ? stderr : stdout, signals)) {
    mnist::show(stderr,
                fmt::format("\nstopped; everything up to this step is in {}\nto go on: {}\n",
                            (options.checkpoint_dir / "last.ckpt").string(), resume_command));
    return kSignalExit + signals.signal();
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw IoError(
        "cannot write to standard output: is the disk full, or has its reader ended? All files "
        "are in " +
        options.out.string());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto [options, exit_code] = mnist::parse_options(argc, argv);
  if (!options) return exit_code;
  try {
    return run_program(*options, resume_command(argc, argv, "--resume"));
  } catch (const OutOfMemory& error) {
    mnist::show(stderr,
                fmt::format("mnist_qat: {}; try a smaller network or --batch\n", error.what()));
    return kFailure;
  } catch (const std::bad_alloc&) {
    mnist::show(stderr, "mnist_qat: out of memory; try a smaller network or --batch\n");
    return kFailure;
  } catch (const std::exception& error) {
    mnist::show(stderr, fmt::format("mnist_qat: {}\n", printable(error.what(), kMostOfMessage)));
    return kFailure;
  }
}
