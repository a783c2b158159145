#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/parallel.h>
#include <octet/deploy/tflite/reader.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>

#include "commands.h"

namespace octet::tools {
namespace {

constexpr std::size_t kMostSamples = 1000;
constexpr std::size_t kMostBytes = std::size_t{16} << 20U;

struct RunFiles {
  RunOptions options;
  std::string input;
  std::string output;
};

void check_operands(const IntegerModel& model) {
  if (model.inputs.size() != 1 || model.outputs.size() != 1) {
    throw InvalidArgument(
        fmt::format("run: expected a model with one input and one output, found {} and {}",
                    model.inputs.size(), model.outputs.size()));
  }
}

/// Batch by batch; the last one may be filled up with what was there before.
std::vector<std::uint8_t> run_samples(Interpreter& interpreter, std::span<const std::uint8_t> raw,
                                      std::size_t samples) {
  const auto batch = static_cast<std::size_t>(interpreter.batch());
  const std::size_t in_bytes = interpreter.input_bytes().size() / batch;
  const std::size_t out_bytes = interpreter.output_bytes().size() / batch;
  std::vector<std::uint8_t> result(samples * out_bytes);
  for (std::size_t begin = 0; begin < samples; begin += batch) {
    const std::size_t count = std::min(batch, samples - begin);
    std::memcpy(interpreter.input_bytes().data(), raw.data() + begin * in_bytes, count * in_bytes);
    interpreter.invoke();
    std::memcpy(result.data() + begin * out_bytes, interpreter.output_bytes().data(),
                count * out_bytes);
  }
  return result;
}

void run(const RunFiles& files) {
  Interpreter interpreter = files.options.open(1);
  check_operands(interpreter.model());
  const TensorDetails input = interpreter.get_input_details()[0];
  const std::size_t sample_bytes = interpreter.input_bytes().size();
  const auto raw = read_file(files.input);
  if (raw.empty() || raw.size() % sample_bytes != 0) {
    throw InvalidArgument(fmt::format(
        "run: '{}' has {} bytes, expected a multiple of {} (samples of {} [{}])", files.input,
        raw.size(), sample_bytes, to_string(input.dtype), fmt::join(input.shape, ", ")));
  }
  const std::size_t samples = raw.size() / sample_bytes;
  resize_for(interpreter, samples);
  write_file_atomic(files.output, run_samples(interpreter, raw, samples));
}

}  // namespace

CLI::Validator named() {
  return {[](const std::string& text) -> std::string {
            return text.empty() ? "expected a name, found an empty one" : "";
          },
          ""};
}

void RunOptions::add_to(CLI::App& command) {
  command.add_option("FILE", file, "A .tflite file")->required()->check(named());
  command.add_option("--rounding", rounding, "How sums are rescaled; default: what the model says")
      ->check(CLI::IsMember({"fp32", "single", "double"}));
  command.add_option("--threads", threads, "Threads; default: what the machine has")
      ->check(CLI::Range(1, 1024));
}

Interpreter RunOptions::open(Index batch) const {
  if (threads > 0) set_num_threads(threads);
  InterpreterOptions options;
  options.batch = batch;
  if (!rounding.empty()) options.rounding = parse_rounding(rounding);
  return Interpreter(read_tflite(file), options);
}

void resize_for(Interpreter& interpreter, std::size_t samples) {
  const auto batch = static_cast<std::size_t>(interpreter.batch());
  const std::size_t of_sample =
      (interpreter.input_bytes().size() + interpreter.output_bytes().size()) / batch;
  const std::size_t fitting =
      std::max<std::size_t>(kMostBytes / std::max<std::size_t>(of_sample, 1), 1);
  interpreter.resize_batch(static_cast<Index>(std::min({samples, fitting, kMostSamples})));
}

void add_run(CLI::App& app) {
  const auto files = std::make_shared<RunFiles>();
  CLI::App* command = app.add_subcommand("run", "Runs samples of raw numbers through a model.");
  files->options.add_to(*command);
  command->add_option("--input", files->input, "Samples end to end, in the input's own type")
      ->required()
      ->check(named());
  command->add_option("--output", files->output, "Where the outputs go, end to end")
      ->required()
      ->check(named());
  command->callback([files] { run(*files); });
}

}  // namespace octet::tools
