#include "training_plan.h"

#include <fmt/format.h>
#include <octet/frontend/log_mel.h>
#include <octet/layers/quantize/backward.h>
#include <octet/train/callbacks.h>
#include <octet/train/data/signal_augmentation.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "losses.h"

namespace octet::application {
namespace {

/// Over the steps of so many epochs, from `rate` to `last`; or `rate` where it does not fall.
Schedule schedule(const Options& options, const Dataset& data, bool falls, int epochs, float rate,
                  float last) {
  if (!falls || epochs == 0) return constant_rate(rate);
  return cosine_decay(rate, training_steps(data, epochs, options.batch), last);
}

}  // namespace

Augment changed_examples(const Options& options, const Model& network, const Dataset& train) {
  const Augmentation all = all_augmentation(options);
  // The network may have more classes than the data has.
  const int classes =
      mixes_labels(options, train)
          ? std::max(train.classes(), static_cast<int>(network.output_shape().dim(-1)))
          : 0;
  if (train.signals() == nullptr) return augment(all, classes);
  return augment_signals(all, LogMel::parse(train.front_end()), classes);
}

Schedule float_schedule(const Options& options, const Dataset& data) {
  return schedule(options, data, options.rate_falls, options.epochs, options.lr, options.qat_lr);
}

Schedule qat_schedule(const Options& options, const Dataset& data) {
  return schedule(options, data, options.qat_rate_falls, options.qat_epochs, options.qat_lr, 0.0F);
}

std::shared_ptr<ReduceOnPlateau> plateau_of(const Options& options, std::FILE* screen) {
  if (options.plateau == 0) return nullptr;
  return std::make_shared<ReduceOnPlateau>(
      options.plateau, PlateauOptions{.score = score_of, .tell = [screen](const std::string& line) {
                                        show(screen, line + "\n");
                                      }});
}

void add_ends(const Options& options, Trainer& trainer) {
  if (options.average_weights > 0.0F) {
    trainer.add_callback(std::make_shared<WeightAverage>(options.average_weights));
  }
  if (options.patience > 0) {
    trainer.add_callback(std::make_shared<EarlyStopping>(
        options.patience, EarlyStoppingOptions{.score = score_of, .restore_best_weights = true}));
  }
}

std::string early_end_text(const Options& options, const History& history) {
  if (options.patience == 0 || history.empty()) return "";
  const auto best = std::ranges::max_element(
      history, {}, [](const EpochRecord& record) { return score_of(record); });
  return fmt::format("float training: {} of {} epochs, goes on with the weights of epoch {}\n",
                     history.size(), options.epochs, best->epoch);
}

std::size_t calibration_batches(const Options& options) {
  if (!options.calibrate) return TrainerOptions{}.calibration_batches;
  return (*options.calibrate + options.batch - 1) / options.batch;
}

std::vector<std::string> outputs_of(const Application& application) {
  const std::string int8 = application.stem + "_int8";
  std::vector<std::string> files = {application.float_file(),
                                    application.int8_file(),
                                    int8 + ".h",
                                    int8 + ".c",
                                    "bits.csv",
                                    "bits.svg"};
  if (application.writes_onnx) files.push_back(int8 + ".onnx");
  return files;
}

std::vector<std::filesystem::path> inputs_of(const Options& options) {
  if (options.file.empty()) return {};
  return {options.file};
}

std::vector<std::string> phases_of(const Options& options) {
  if (options.control) return {"float", "control", "qat"};
  return {"float", "qat"};
}

std::string backward_text(const Model& quantized, Backward backward) {
  const std::vector<std::string> names = layers_with_float_gradients(quantized);
  return fmt::format("gradients on {}{}\n", to_string(backward),
                     names.empty() ? " in all layers with weights"
                                   : fmt::format(", but in floats in {}", fmt::join(names, ", ")));
}

std::unique_ptr<Optimizer> optimizer_of(const Options& options, Schedule schedule) {
  if (options.sgd) {
    return std::make_unique<Sgd>(
        std::move(schedule),
        SgdOptions{.momentum = 0.9F, .nesterov = true, .weight_decay = options.weight_decay});
  }
  // AdamW without a decay has another name in checkpoints.
  if (options.weight_decay == 0.0F) return std::make_unique<Adam>(std::move(schedule));
  return std::make_unique<AdamW>(std::move(schedule),
                                 AdamOptions{.weight_decay = options.weight_decay});
}

}  // namespace octet::application
