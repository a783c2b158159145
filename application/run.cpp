#include "run.h"

#include <fmt/core.h>
#include <octet/command_line/message.h>
#include <octet/command_line/parse.h>
#include <octet/core/kernels/isa.h>
#include <octet/train/distributed/distributed.h>
#include <octet/train/distributed/messages.h>

#include <exception>
#include <new>
#include <string>

namespace octet::application {
namespace {

constexpr int kFailureExit = 1;
constexpr int kSignalExit = 128;

int run_program(const Application& application, const Options& options,
                const std::string& resume_command, ProcessGroup& group) {
  const StopSignals signals;
  set_log_level(group.is_root() ? parse_log_level(options.log_level) : LogLevel::off);
  kernels();  // Throws where OCTET_ISA names none.
  if (options.threads > 0) set_num_threads(options.threads);
  if (!train(application, options, options.json ? stderr : stdout, signals, group)) {
    show(group.is_root() ? stderr : nullptr,
         fmt::format("\nstopped; everything up to this step is in {}\nto go on: {}\n",
                     (options.checkpoint_dir / "last.ckpt").string(), resume_command));
    return kSignalExit + signals.signal();
  }
  command_line::flush_output(" All files are in " + options.out.string());
  return 0;
}

/// What all ranks do together or not at all: were only some asked to, the others would wait for
/// ever.
void require_same_run(ProcessGroup& group, const ParsedOptions& parsed) {
  const auto given = [](bool asked) { return asked ? "given" : "not given"; };
  const Options* options = parsed.options ? &*parsed.options : nullptr;
  require_same(group, {{"command line", parsed.exit_code == 0 ? "right" : parsed.text},
                       {"--help or --version", given(options == nullptr && parsed.exit_code == 0)},
                       {"--report", given(options != nullptr && !options->report.empty())},
                       {"--profile", given(options != nullptr && options->profile)}});
}

[[noreturn]] void fail(const Application& application, Distributed& group,
                       const std::string& message, int exit_code = kFailureExit) {
  group.fail(fmt::format("{}: {}", application.name, message), exit_code);
}

/// What to try where memory is short: the model of a file is as large as it is.
std::string less_memory(const ParsedOptions& parsed) {
  const bool of_file = parsed.options && !parsed.options->file.empty();
  return of_file ? "try a smaller --batch" : "try a smaller network or --batch";
}

int run_rank(const Application& application, const std::function<ParsedOptions()>& parse,
             const std::string& resume_command, Distributed& group) {
  ParsedOptions parsed;
  try {
    parsed = parse();
    require_same_run(group, parsed);
    if (parsed.exit_code != 0) fail(application, group, parsed.text, parsed.exit_code);
    if (!parsed.options) {
      show(group.is_root() ? stdout : nullptr, parsed.text);
      return 0;
    }
    if (parsed.options->shards == 0) parsed.options->shards = default_shards(group.size());
    return run_program(application, *parsed.options, resume_command, group);
  } catch (const command_line::UsageError& error) {
    fail(application, group,
         fmt::format("{} ({})", command_line::one_line(error.what()), application.help),
         command_line::kUsageExit);
  } catch (const OutOfMemory& error) {
    fail(application, group, fmt::format("{}; {}", error.what(), less_memory(parsed)));
  } catch (const std::bad_alloc&) {
    fail(application, group, "out of memory; " + less_memory(parsed));
  } catch (const std::exception& error) {
    fail(application, group, command_line::one_line(error.what()));
  }
}

}  // namespace

int run(const Application& application, int argc, char** argv,
        const std::function<ParsedOptions()>& parse) {
  try {
    Distributed group(argc, argv);
    return run_rank(application, parse, resume_command(argc, argv, "--resume"), group);
  } catch (const std::exception& error) {
    show(stderr, fmt::format("{}: {}\n", application.name, command_line::one_line(error.what())));
    return kFailureExit;
  }
}

}  // namespace octet::application
