// Measures Octet alone, one thing a process; prints one line of JSON. scripts/bench.sh runs it.

#include <fmt/core.h>
#include <octet/bench/measure/measure.h>
#include <octet/bench/timing.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

namespace {

using namespace octet;

struct Arguments {
  bench::TrainRequest train;
  bench::StepRequest step;
  bench::LowBitRequest low_bits;
  bench::InferenceRequest inference;
  bench::TrainedNetwork memory;
  bench::StreamRequest stream;
  bench::NetworkRequest network;
  std::string mode = "float";
  std::filesystem::path run;
  std::filesystem::path data;
  int threads = 1;
};

void add_training(CLI::App& command, bench::TrainedNetwork& request, std::string& mode) {
  command.add_option("--network", request.network)->capture_default_str();
  command.add_option("--channels", request.of.channels, "Of --network convolutions")
      ->check(CLI::Range(1, 1 << 12))
      ->capture_default_str();
  command.add_option("--image", request.of.image, "Height and width, of --network convolutions")
      ->check(CLI::Range(1, 1 << 12))
      ->capture_default_str();
  command.add_option("--mode", mode, "qat8: quantized with Backward::int8; qat8s: int8_stochastic")
      ->check(CLI::IsMember({"float", "qat", "qat8", "qat8s"}))
      ->capture_default_str();
  command.add_option("--batch", request.batch)->check(CLI::Range(1, 1 << 20));
  command.add_flag("--batch-statistics", request.batch_statistics,
                   "Quantized networks normalize by the statistics of each batch");
}

/// Commands on networks of the examples.
void add_network_options(CLI::App& app, Arguments& arguments) {
  CLI::App* network = app.add_subcommand("network", "The layers of a network, for bench/peers");
  network->add_option("--network", arguments.network.network)->capture_default_str();
  network->add_option("--tflite", arguments.network.tflite, "A file for its integers, untrained");
  CLI::App* step = app.add_subcommand("step", "Steps of training of a network of the examples");
  add_training(*step, arguments.step, arguments.mode);
  step->add_option("--steps", arguments.step.steps, "Of an epoch")->check(CLI::Range(6, 1 << 20));
  step->add_option("--seconds", arguments.step.seconds, "Epochs are trained until then")
      ->check(CLI::Range(0.0, 3600.0));
  CLI::App* inference =
      app.add_subcommand("inference", "Interpreter::invoke of a network of the examples");
  inference->add_option("--network", arguments.inference.network)->capture_default_str();
  inference->add_option("--batch", arguments.inference.batch)
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  CLI::App* stream = app.add_subcommand("stream", "One step of a network that carries states");
  stream->add_option("--network", arguments.stream.network)->capture_default_str();
  stream->add_option("--mode", arguments.mode)->check(CLI::IsMember({"float", "qat"}));
  stream->add_option("--write", arguments.stream.prefix, "PREFIX of the files that peers read");
  CLI::App* memory = app.add_subcommand("memory", "The most memory that steps of training take");
  add_training(*memory, arguments.memory, arguments.mode);
  app.add_subcommand("footprint", "Flash and RAM of the networks of the examples in integers");
}

void add_options(CLI::App& app, Arguments& arguments) {
  app.require_subcommand(1);
  app.add_option("--threads", arguments.threads)->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_subcommand("peak", "What one core of this machine can do at most");
  CLI::App* train = app.add_subcommand("train", "Time, memory and start-up of training");
  train->add_option("--mode", arguments.mode)
      ->check(CLI::IsMember({"float", "qat"}))
      ->capture_default_str();
  train->add_option("--batch", arguments.train.batch)->check(CLI::Range(1, 1 << 20));
  train->add_option("--hidden", arguments.train.hidden)->delimiter(',');
  train->add_option("--epochs", arguments.train.epochs)->check(CLI::Range(1, 1000));
  train->add_option("--images", arguments.train.images, "Of noise")->check(CLI::Range(1, 1 << 24));
  train->add_option("--data", arguments.train.data, "Folder with IDX files, instead of noise");
  train->add_flag("--profile", arguments.train.profile, "Where the time of a step goes");
  CLI::App* low_bits = app.add_subcommand(
      "low-bits", "Steps of training on few bits and with learned scales, beside those on 8 bits");
  low_bits->add_option("--network", arguments.low_bits.network)->capture_default_str();
  low_bits->add_option("--batch", arguments.low_bits.batch)
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  low_bits->add_option("--bits", arguments.low_bits.bits)
      ->check(CLI::Range(2, 8))
      ->capture_default_str();
  low_bits->add_option("--rounds", arguments.low_bits.rounds)
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  add_network_options(app, arguments);
  CLI::App* infer = app.add_subcommand("infer", "Interpreter::invoke and setting it up");
  infer->add_option("--run", arguments.run, "Folder that mnist_qat has written")->required();
  infer->add_option("--data", arguments.data, "Folder with IDX files")->required();
}

nlohmann::json measure(const CLI::App& app, const Arguments& arguments, double begin) {
  set_num_threads(arguments.threads);
  if (app.got_subcommand("peak")) return bench::measure_peak();
  if (app.got_subcommand("train")) return bench::measure_training(arguments.train, begin);
  if (app.got_subcommand("network")) return bench::describe_network(arguments.network);
  if (app.got_subcommand("step")) return bench::measure_steps(arguments.step);
  if (app.got_subcommand("low-bits")) return bench::measure_low_bits(arguments.low_bits);
  if (app.got_subcommand("inference")) return bench::measure_invokes(arguments.inference);
  if (app.got_subcommand("stream")) return bench::measure_stream(arguments.stream);
  if (app.got_subcommand("memory")) return bench::measure_training_memory(arguments.memory);
  if (app.got_subcommand("footprint")) return bench::measure_deployment_memory();
  return bench::measure_inference(arguments.run, arguments.data);
}

}  // namespace

int main(int argc, char** argv) {
  const double begin = bench::now();
  try {
    Arguments arguments;
    CLI::App app("Measures Octet's training and inference on this machine.", "octet_measure");
    add_options(app, arguments);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return app.exit(error) == 0 ? 0 : 2;
    }
    arguments.train.quantized = arguments.step.quantized = arguments.memory.quantized =
        arguments.stream.quantized = arguments.mode != "float";
    if (arguments.mode.starts_with("qat8")) {
      arguments.step.backward = arguments.memory.backward =
          arguments.mode == "qat8" ? Backward::int8 : Backward::int8_stochastic;
    }
    fmt::print("{}\n", measure(app, arguments, begin).dump());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "octet_measure: %s\n", error.what());
    return 1;
  }
}
