// Trains a network on MNIST in float, continues with quantization in the loop, and exports int8.

#include <fmt/core.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/printable.h>
#include <octet/train/distributed/messages.h>

#include <exception>
#include <new>

#include "train.h"

namespace {

using namespace octet;

constexpr int kFailure = 1;
constexpr int kSignalExit = 128;
/// Messages quote names from files.
constexpr std::size_t kMostOfMessage = 2000;

int run_program(const mnist::Options& options, const std::string& resume_command,
                ProcessGroup& group) {
  const StopSignals signals;
  set_log_level(group.is_root() ? parse_log_level(options.log_level) : LogLevel::off);
  kernels();  // Throws where OCTET_ISA names none.
  if (options.threads > 0) set_num_threads(options.threads);
  if (!mnist::train(options, options.json ? stderr : stdout, signals, group)) {
    mnist::show(group.is_root() ? stderr : nullptr,
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

/// What all ranks do together or not at all: were only some asked to, the others would wait for
/// ever.
void require_same_run(ProcessGroup& group, const mnist::ParsedOptions& parsed) {
  const auto given = [](bool asked) { return asked ? "given" : "not given"; };
  const mnist::Options* options = parsed.options ? &*parsed.options : nullptr;
  require_same(group, {{"command line", parsed.exit_code == 0 ? "right" : parsed.text},
                       {"--help or --version", given(options == nullptr && parsed.exit_code == 0)},
                       {"--report", given(options != nullptr && !options->report.empty())},
                       {"--profile", given(options != nullptr && options->profile)}});
}

int run_rank(int argc, char** argv, Distributed& group) {
  try {
    mnist::ParsedOptions parsed = mnist::parse_options(argc, argv);
    require_same_run(group, parsed);
    if (parsed.exit_code != 0) group.fail("mnist_qat: " + parsed.text, parsed.exit_code);
    if (!parsed.options) {
      mnist::show(group.is_root() ? stdout : nullptr, parsed.text);
      return 0;
    }
    if (parsed.options->shards == 0) parsed.options->shards = default_shards(group.size());
    return run_program(*parsed.options, resume_command(argc, argv, "--resume"), group);
  } catch (const OutOfMemory& error) {
    group.fail(fmt::format("mnist_qat: {}; try a smaller network or --batch", error.what()),
               kFailure);
  } catch (const std::bad_alloc&) {
    group.fail("mnist_qat: out of memory; try a smaller network or --batch", kFailure);
  } catch (const std::exception& error) {
    group.fail(fmt::format("mnist_qat: {}", printable(error.what(), kMostOfMessage)), kFailure);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Distributed group(argc, argv);
    return run_rank(argc, argv, group);
  } catch (const std::exception& error) {
    mnist::show(stderr, fmt::format("mnist_qat: {}\n", printable(error.what(), kMostOfMessage)));
    return kFailure;
  }
}
