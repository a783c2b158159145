#include "train.h"

#include <fmt/format.h>
#include <octet/examples/networks/networks.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "report.h"

namespace octet::mnist {
namespace {

/// The second phase sees the examples in another order than the first.
constexpr std::uint64_t kQatSeedOffset = std::uint64_t{1} << 32;
/// Test images that the C source's self-test runs.
constexpr std::size_t kSelfTestImages = 4;
constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
/// What a .tflite file may hold.
constexpr double kMostFileBytes = 2.0 * kGiB;

DataSplit load_data(const Options& options) {
  if (!options.data.empty()) return load_idx(options.data);
  const char* directory = std::getenv("OCTET_MNIST_DIR");
  if (directory != nullptr && *directory != '\0') return load_idx(directory);
  return make_digits(options.seed);
}

/// A machine that does not say gets the benefit of the doubt.
double memory_bytes() {
  const auto pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  return pages > 0.0 && page > 0.0 ? pages * page : 1e30;
}

/// Weights, gradients and Adam's moments, and a batch of activations, have to fit into this
/// machine's memory, and the weights into a .tflite file. Throws InvalidArgument. `values` are what
/// the layers make of an example.
void check_memory(double parameters, double values, std::size_t batch) {
  // Floats: a weight with its gradient and two moments; a value with its gradient.
  const double needed =
      sizeof(float) * (4.0 * parameters + 2.0 * values * static_cast<double>(batch));
  if (needed > memory_bytes()) {
    throw InvalidArgument(fmt::format(
        "training takes {:.1f} GiB, this machine has {:.1f}; try a smaller --hidden or --batch",
        needed / kGiB, memory_bytes() / kGiB));
  }
  if (sizeof(float) * parameters >= kMostFileBytes) {
    throw InvalidArgument(
        fmt::format("{:.0f} parameters do not fit into a .tflite file, which holds 2 GiB; try a "
                    "smaller --hidden",
                    parameters));
  }
}

/// The network that the options name, its weights drawn.
Model make_model(const Options& options, const Dataset& data) {
  const Shape& image = data.example_shape();
  const std::size_t batch = std::min(options.batch, data.size());
  double parameters = 0.0;
  double values = 0.0;
  if (options.network == kMlp) {
    // Before the weights are made, which may be too many by far.
    auto inputs = static_cast<double>(image.size());
    for (const int units : options.hidden) {
      parameters += (inputs + 1.0) * units;
      values += units;
      inputs = units;
    }
    check_memory(parameters + (inputs + 1.0) * data.classes(), values + data.classes(), batch);
    Model model = networks::mlp(image, options.hidden, data.classes(), "mnist");
    model.build(options.seed);
    return model;
  }
  Model model = networks::classifier(options.network).make(image, data.classes());
  model.build(options.seed);
  for (const NamedTensor& tensor : model.parameters()) {
    parameters += static_cast<double>(tensor.tensor.size());
  }
  for (const auto& layer : model.layers()) {
    values += static_cast<double>(layer->output_shape().size());
  }
  check_memory(parameters, values, batch);
  return model;
}

QuantizeOptions quantize_options(const Options& options) {
  QuantizeOptions result =
      options.tfmot_ranges ? QuantizeOptions::tfmot_ranges() : QuantizeOptions{};
  result.per_channel = options.per_channel;
  result.rounding = options.rounding;
  result.simulation = options.simulation;
  // Statistics of a network that was never trained say nothing.
  if (options.epochs == 0) result.batch_norm = BatchNormMode::statistics;
  return result;
}

Schedule qat_schedule(const Options& options, const Dataset& data) {
  if (!options.qat_rate_falls || options.qat_epochs == 0) return constant_rate(options.qat_lr);
  const std::size_t steps = (data.size() + options.batch - 1) / options.batch;
  return cosine_decay(options.qat_lr, steps * static_cast<std::size_t>(options.qat_epochs));
}

std::vector<std::string> phases_of(const Options& options) {
  if (options.control) return {"float", "control", "qat"};
  return {"float", "qat"};
}

/// Writes the trained integers as files, and holds the very file against the trained model.
void export_and_compare(const Options& options, const Trainer& trainer, const Model& quantized,
                        const Dataset& test, Results& results) {
  const std::filesystem::path stem = options.out / "mnist_int8";
  const std::filesystem::path path = stem.string() + ".tflite";
  trainer.export_int8(path);
  results.int8_bytes = std::filesystem::file_size(path);
  const Tensor images = test.features(0, std::min(kSelfTestImages, test.size()));
  const CSource source = trainer.export_c_source(
      stem, {.self_test_inputs = {images.span().begin(), images.span().end()}});
  results.c_flash_bytes = source.flash_bytes;
  results.c_ram_bytes = source.ram_bytes;
  const Evaluation simulated = trainer.evaluate(test);
  const IntegerModel file = read_tflite(path);
  results.warnings = runtime_warnings(file);
  const Evaluation shipped = evaluate(file, test);
  results.simulated_accuracy = simulated.accuracy;
  results.integer_accuracy = shipped.accuracy;
  results.differing_predictions = count_differing(simulated, shipped);
  results.layer_differences = compare_networks(quantized, file, test);
}

}  // namespace

void show(std::FILE* screen, const std::string& text) {
  static_cast<void>(std::fputs(text.c_str(), screen));
}

bool train(const Options& options, std::FILE* screen, const StopSignals& signals) {
  TrainingRun run({.folder = options.out,
                   .checkpoint_folder = options.checkpoint_dir,
                   .phases = phases_of(options),
                   .options = defining_options(options),
                   .resume = options.resume,
                   .names = {"--out", "--checkpoint-dir", "--resume"}});
  const DataSplit data = load_data(options);
  Model model = make_model(options, data.train);
  show(screen, fmt::format("data: {}, {} training and {} test images of {}, {} classes\n",
                           data.train.name(), data.train.size(), data.test.size(),
                           data.train.example_shape().to_string(), data.train.classes()));
  run.begin(data);
  if (const auto& from = run.resumed_from()) {
    show(screen, fmt::format("resuming from {}\n", from->string()));
  }
  if (const auto& kept = run.kept_checkpoint()) {
    show(screen,
         fmt::format("the checkpoint of a run that was stopped here is kept as {}; to go on with "
                     "it, name it {} again and use --resume\n",
                     kept->string(), run.checkpoint().filename().string()));
  }

  Results results;
  const auto style =
      options.no_progress ? ProgressBar::Style::lines : ProgressBar::Style::automatic;
  const auto make_trainer = [&](Model& network, Schedule schedule, std::uint64_t seed,
                                Profile& profile) {
    Trainer trainer(network, Adam(std::move(schedule)),
                    {.batch_size = options.batch,
                     .seed = seed,
                     .profile = options.profile ? &profile : nullptr,
                     .should_stop = [&signals] { return signals.requested(); }});
    trainer.add_callback(std::make_shared<ProgressBar>(screen, style));
    return trainer;
  };
  show(screen, model.summary());
  const std::filesystem::path float_checkpoint = options.checkpoint_dir / "float.ckpt";
  if (run.needs("float")) {
    Trainer trainer =
        make_trainer(model, constant_rate(options.lr), options.seed, results.float_profile);
    if (!run.fit("float", trainer, options.epochs)) return false;
    run.keep("accuracy", trainer.evaluate(data.test).accuracy);
    const std::filesystem::path path = options.out / "mnist_float.tflite";
    write_tflite(lower_float(model), path);
    run.keep("bytes", static_cast<double>(std::filesystem::file_size(path)));
    // The control's checkpoints hold the control's weights alone.
    if (options.control) trainer.save_checkpoint(float_checkpoint);
  } else if (options.control && run.needs("control")) {
    Trainer(model, Adam()).load_checkpoint(float_checkpoint);
  }
  results.float_accuracy = run.kept("float", "accuracy");
  results.float_bytes = static_cast<std::uintmax_t>(run.kept("float", "bytes"));

  const std::uint64_t qat_seed = options.seed + kQatSeedOffset;
  if (options.control) {
    if (run.needs("control")) {
      Model control = model;
      Profile not_shown;
      Trainer trainer =
          make_trainer(control, qat_schedule(options, data.train), qat_seed, not_shown);
      if (!run.fit("control", trainer, options.qat_epochs)) return false;
      run.keep("accuracy", trainer.evaluate(data.test).accuracy);
    }
    results.control_accuracy = run.kept("control", "accuracy");
  }
  Model quantized = quantize_model(model, quantize_options(options));
  show(screen, quantized.summary());
  Trainer trainer =
      make_trainer(quantized, qat_schedule(options, data.train), qat_seed, results.qat_profile);
  if (!run.fit("qat", trainer, options.qat_epochs)) return false;
  if (trainer.calibrated()) {
    results.calibrated_integer_accuracy = trainer.calibrated()->integer_accuracy;
  }
  export_and_compare(options, trainer, quantized, data.test, results);
  const RunReport report =
      run.finish(options.out / "mnist_int8.tflite", metrics_json(options, results));
  show(screen, final_report(options, results, run.history(), report));
  if (options.json) show(stdout, report.metrics);
  return true;
}

}  // namespace octet::mnist
