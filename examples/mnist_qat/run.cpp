#include "run.h"

#include <fmt/format.h>
#include <octet/core/archive.h>
#include <octet/octet.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "checks.h"

namespace octet::mnist {
namespace {

using Notes = std::map<std::string, std::string>;

/// The second phase sees the examples in another order than the first.
constexpr std::uint64_t kQatSeedOffset = std::uint64_t{1} << 32;

/// Test images that the C source's self-test runs.
constexpr std::size_t kSelfTestImages = 4;

Sequential make_model(const Options& options, const DataSplit& data) {
  Sequential model("mnist");
  model.add(Input({data.train.example_shape().size()}));
  for (const int units : options.hidden) model.add(Dense(units, Activation::relu));
  model.add(Dense(data.train.classes(), Activation::softmax));
  model.build(options.seed);
  return model;
}

QuantizeOptions quantize_options(const Options& options) {
  QuantizeOptions result =
      options.tfmot_ranges ? QuantizeOptions::tfmot_ranges() : QuantizeOptions{};
  result.per_channel = options.per_channel;
  result.rounding = options.rounding;
  result.simulation = options.simulation;
  return result;
}

/// Two phases on one model, each with a trainer; a checkpoint says which one it belongs to.
class Run {
 public:
  Run(const Options& options, std::FILE* screen, const std::atomic<bool>& stop_requested)
      : options_(options), screen_(screen), stop_requested_(stop_requested) {}

  std::optional<Results> execute() {
    const auto begin = std::chrono::steady_clock::now();
    if (options_.resume) check_checkpoint_is_there(options_);
    const OutputFolders folders(options_);
    data_ = load_data(options_);
    check_memory(options_, data_.train);
    results_.data_name = data_.train.name();
    results_.train_count = data_.train.size();
    results_.test_count = data_.test.size();
    results_.threads = num_threads();
    show(screen_, fmt::format("data: {}, {} training and {} test images of {}, {} classes\n",
                              data_.train.name(), data_.train.size(), data_.test.size(),
                              data_.train.example_shape().to_string(), data_.train.classes()));
    if (options_.resume) {
      read_checkpoint();
    } else if (const auto kept = keep_stopped_run(options_)) {
      show(screen_,
           fmt::format(
               "the checkpoint of a run that was stopped here is kept as {}; to go on with it, "
               "name it {} again and use --resume\n",
               kept->string(), checkpoint_path(options_).filename().string()));
    }
    Sequential model = make_model(options_, data_);
    show(screen_, model.summary());
    if (!resumes_qat() && !train_float(model)) return std::nullopt;
    Sequential quantized = quantize_model(model, quantize_options(options_));
    show(screen_, quantized.summary());
    if (!train_quantized(quantized)) return std::nullopt;
    results_.hashes = hashes_of(options_, results_.history);
    results_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return results_;
  }

 private:
  void read_checkpoint() {
    CheckpointFile file = octet::read_checkpoint(checkpoint_path(options_));
    checkpoint_ = std::move(file.archive);
    notes_ = Trainer::notes_of(*checkpoint_);
    const auto check = [&](const std::string& name, const std::string& value) {
      const auto found = notes_.find(name);
      if (found != notes_.end() && found->second == value) return;
      throw InvalidArgument(fmt::format(
          "--resume: the checkpoint was made with {} {}, now it is {}; give the same options, or "
          "start anew without --resume",
          name, found == notes_.end() ? "unknown" : found->second, value));
    };
    for (const auto& [name, value] : defining_options(options_)) check(name, value);
    check("data", data_in_words());
    if (resumes_qat()) take_float_results(file.path);
    show(screen_, fmt::format("resuming from {}\n", file.path.string()));
  }

  /// What a resumed run has to find again.
  std::string data_in_words() const {
    return fmt::format("{} ({} + {} images of {})", data_.train.name(), data_.train.size(),
                       data_.test.size(), data_.train.example_shape().to_string());
  }

  bool resumes(const std::string& phase) const {
    const auto found = notes_.find("phase");
    return checkpoint_ && found != notes_.end() && found->second == phase;
  }
  bool resumes_qat() const { return resumes("qat"); }

  Notes notes(const std::string& phase) const {
    Notes result = defining_options(options_);
    result["data"] = data_in_words();
    result["phase"] = phase;
    result[kFloatHistoryNote] = history_json(results_.history);
    result["float_accuracy"] = nlohmann::json(results_.float_accuracy).dump();
    result["float_bytes"] = std::to_string(results_.float_bytes);
    return result;
  }

  /// Fits, with checkpoints. False where the run was stopped.
  bool fit(Trainer& trainer, int epochs, const Notes& notes) {
    const auto style =
        options_.no_progress ? ProgressBar::Style::lines : ProgressBar::Style::automatic;
    trainer.add_callback(std::make_shared<ProgressBar>(screen_, style));
    trainer.add_callback(std::make_shared<LastCheckpoint>(checkpoint_path(options_), notes));
    if (resumes(notes.at("phase"))) trainer.restore(*checkpoint_);
    trainer.fit(data_.train, data_.test, epochs);
    if (!trainer.stopped()) return true;
    trainer.save_checkpoint(checkpoint_path(options_), notes);
    return false;
  }

  TrainerOptions trainer_options(Schedule schedule, std::uint64_t seed, Profile& profile) const {
    return {.schedule = std::move(schedule),
            .batch_size = options_.batch,
            .seed = seed,
            .profile = options_.profile ? &profile : nullptr,
            .should_stop = [this] { return stop_requested_.load(); }};
  }

  Schedule qat_schedule() const {
    if (!options_.qat_rate_falls || options_.qat_epochs == 0) {
      return constant_rate(options_.qat_lr);
    }
    const std::size_t steps = (data_.train.size() + options_.batch - 1) / options_.batch;
    return cosine_decay(options_.qat_lr, steps * static_cast<std::size_t>(options_.qat_epochs));
  }

  bool train_float(Sequential& model) {
    Trainer trainer(
        model, Adam(),
        trainer_options(constant_rate(options_.lr), options_.seed, results_.float_profile));
    if (!fit(trainer, options_.epochs, notes("float"))) return false;
    results_.history = trainer.history();
    results_.float_accuracy = trainer.evaluate(data_.test).accuracy;
    write_tflite(lower_float(model), float_path(options_));
    results_.float_bytes = std::filesystem::file_size(float_path(options_));
    return true;
  }

  bool train_quantized(Sequential& quantized) {
    Trainer trainer(
        quantized, Adam(),
        trainer_options(qat_schedule(), options_.seed + kQatSeedOffset, results_.qat_profile));
    if (!fit(trainer, options_.qat_epochs, notes("qat"))) return false;
    results_.history.insert(results_.history.end(), trainer.history().begin(),
                            trainer.history().end());
    if (trainer.calibrated()) {
      results_.calibrated_integer_accuracy = trainer.calibrated()->integer_accuracy;
    }
    trainer.export_int8(int8_path(options_));
    results_.int8_bytes = std::filesystem::file_size(int8_path(options_));
    export_c_source(trainer);
    // The integer score is that of the very file.
    const Evaluation simulated = trainer.evaluate(data_.test);
    const IntegerModel file = read_tflite(int8_path(options_));
    const Evaluation shipped = evaluate(file, data_.test);
    results_.simulated_accuracy = simulated.accuracy;
    results_.integer_accuracy = shipped.accuracy;
    results_.differing_predictions = count_differing(simulated, shipped);
    results_.layer_differences = compare_networks(quantized, file, data_.test);
    return true;
  }

  void export_c_source(const Trainer& trainer) {
    const Tensor images = data_.test.features(0, std::min(kSelfTestImages, data_.test.size()));
    const CSource source =
        trainer.export_c_source(c_source_path(options_),
                                {.self_test_inputs = {images.span().begin(), images.span().end()}});
    results_.c_flash_bytes = source.flash_bytes;
    results_.c_ram_bytes = source.ram_bytes;
  }

  void take_float_results(const std::filesystem::path& checkpoint) {
    try {
      results_.history = parse_history(notes_.at(kFloatHistoryNote));
      results_.float_accuracy = nlohmann::json::parse(notes_.at("float_accuracy")).get<double>();
      results_.float_bytes = std::stoull(notes_.at("float_bytes"));
    } catch (const std::exception& error) {
      throw FormatError(fmt::format(
          "--resume: '{}' does not say what the training in float came to ({}); start anew without "
          "--resume",
          checkpoint.string(), error.what()));
    }
  }

  const Options& options_;
  std::FILE* screen_;
  const std::atomic<bool>& stop_requested_;
  DataSplit data_;
  std::optional<Archive> checkpoint_;
  Notes notes_;
  Results results_;
};

}  // namespace

void show(std::FILE* screen, const std::string& text) {
  static_cast<void>(std::fputs(text.c_str(), screen));
}

DataSplit load_data(const Options& options) {
  if (!options.data.empty()) return load_idx(options.data);
  const char* directory = std::getenv("OCTET_MNIST_DIR");
  if (directory != nullptr && *directory != '\0') return load_idx(directory);
  return make_digits(options.seed);
}

std::filesystem::path checkpoint_path(const Options& options) {
  return options.checkpoint_dir / "last.ckpt";
}
std::filesystem::path metrics_path(const Options& options) { return options.out / "metrics.json"; }
std::filesystem::path int8_path(const Options& options) {
  return options.out / "mnist_int8.tflite";
}
std::filesystem::path c_source_path(const Options& options) { return options.out / "mnist_int8"; }
std::filesystem::path float_path(const Options& options) {
  return options.out / "mnist_float.tflite";
}

std::optional<Results> run(const Options& options, std::FILE* screen,
                           const std::atomic<bool>& stop_requested) {
  return Run(options, screen, stop_requested).execute();
}

}  // namespace octet::mnist
