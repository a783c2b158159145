#include "training.h"

#include <fmt/core.h>
#include <octet/command_line/parse.h>
#include <octet/core/clock.h>
#include <octet/core/file.h>
#include <octet/core/printable.h>
#include <octet/deploy/example_metadata.h>
#include <octet/deploy/runtime_warnings.h>
#include <octet/layers/quantize/weight_storage.h>
#include <octet/report/range_log.h>
#include <octet/train/class_weights.h>
#include <octet/train/distributed/exchange_table.h>
#include <octet/train/distributed/messages.h>

#include <algorithm>
#include <utility>

#include "anomaly.h"
#include "data.h"
#include "exports.h"
#include "flash.h"
#include "losses.h"
#include "page.h"
#include "results.h"
#include "scores.h"
#include "task.h"
#include "training_plan.h"

namespace octet::application {
namespace {

/// The second phase sees the examples in another order than the first.
constexpr std::uint64_t kQatSeedOffset = std::uint64_t{1} << 32;

/// A line per layer with weights of fewer than 8 bits: what the .tflite file holds of them.
std::string storage_text(const Model& quantized) {
  std::string text;
  for (const WeightStorage& storage : weight_storage(quantized)) {
    if (storage.trained_bits == 8) continue;
    text += fmt::format("{}: {}{}{}\n", storage.layer, storage.text(),
                        storage.obstacle.empty() ? "" : "; ", storage.obstacle);
  }
  return text;
}

/// The phases of a run, one after the other.
class Run {
 public:
  Run(const Application& application, const Options& options, std::FILE* screen,
      const StopSignals& signals, ProcessGroup& group)
      : application_(application),
        options_(options),
        group_(group),
        screen_(group.is_root() ? screen : nullptr),
        signals_(signals),
        run_({.folder = options.out,
              .checkpoint_folder = options.checkpoint_dir,
              .phases = phases_of(options),
              .options = defining_options(options),
              .outputs = outputs_of(application),
              .inputs = inputs_of(options),
              .resume = options.resume,
              .group = &group,
              .names = {"--out", "--checkpoint-dir", "--resume"}}),
        data_(normal_only(suitable(application.load_data(options), options), options)),
        normalization_(normalization_for(data_, options)) {
    if (options.task == Task::reconstruction) {
      normal_classes_ = classes_in(data_.train);
      anomalies_ = anomalies_in(data_.test, normal_classes_);
    }
    data_ = with_task(prepared(std::move(data_), options, normalization_), options);
  }

  /// False where a signal stopped it.
  bool train() {
    Model model = application_.make_model(options_, data_.train);
    const std::string made = application_.model_text ? application_.model_text() : "";
    const Model told = with_layer_bits(options_, model);
    check_flash(options_, told, options_.quantize);
    // What cannot be quantized so is refused before it is trained.
    const Model planned = quantize_model(told, options_.quantize);
    if (options_.packed) require_packed_weights(planned, parse_target(options_.target));
    // Data that the model does not take is refused before begin() moves what an earlier run left.
    if (!options_.file.empty()) static_cast<void>(evaluate_outputs(model, data_.test.head(1)));
    name_outputs(model);
    begin(model);
    show(screen_, made);
    show(screen_, model.summary());
    if (!train_in_float(model) || !train_control(model)) return false;
    // Files in float do not say the bits: what is trained further from them may have others.
    model = with_layer_bits(options_, std::move(model));
    set_searched_bits(model);
    Model quantized = quantize_model(model, options_.quantize);
    show(screen_, quantized.summary());
    show(screen_, storage_text(quantized));
    if (options_.backward != Backward::float32) {
      show(screen_, backward_text(quantized, options_.backward));
    }
    if (searches_bits(options_) || !options_.layer_bits.empty()) {
      results_.flash = flash_by_layer(quantized);
    }
    if (options_.qat_epochs > 0 || !options_.only_quantizes) {
      show(screen_, fmt::format("quantized training: {}\n",
                                to_string(QatRecipe{options_.quantize, options_.qat_lr})));
    }
    Trainer trainer = qat_trainer(quantized, results_.qat_profile, 0);
    const auto ranges = std::make_shared<RangeLog>();
    trainer.add_callback(ranges);
    if (!run_.fit("qat", trainer, options_.qat_epochs)) return false;
    results_.qat_exchange = exchange_of(trainer, results_.qat_profile);
    results_.ranges = ranges->ranges();
    results_.oscillation_log = ranges->oscillations();
    results_.oscillations = oscillating_weights(quantized);
    // Results are those on the test set.
    if (trainer.calibrated() && data_.validation.empty()) keep_calibrated(*trainer.calibrated());
    const std::vector<OutputEvaluation> simulated = scores_of(quantized);
    if (group_.is_root()) export_and_compare(trainer, quantized, simulated);
    finish(quantized);
    return true;
  }

 private:
  void begin(const Model& model) {
    results_.normalization = normalization_;
    results_.skipped = data_.skipped;
    results_.example_metadata = example_metadata(data_, normalization_, model);
    if (options_.task == Task::classification) {
      results_.example_metadata[kTaskKey] = kClassification;
    }
    if (!normal_classes_.empty()) {
      results_.example_metadata[kNormalClassesKey] = metadata_text(normal_classes_);
    }
    show(screen_, text_of(data_, options_.task) + anomaly_text(normal_classes_, anomalies_));
    run_.begin(data_);
    show(screen_, run_.begin_text());
  }

  /// What is wrong with losses is known before anything is trained.
  void name_outputs(const Model& model) {
    names_ = output_names(model);
    static_cast<void>(losses_of(options_.losses, model, names_, data_.train));
    class_weights_ = class_weights_of(options_, data_.train);
    require_one_loss(options_, model, data_.train);
    for (std::size_t k = 0; k < names_.size(); ++k) {
      results_.outputs.push_back(
          {.name = names_[k].tensor, .is_accuracy = data_.test.has_labels(k)});
    }
  }

  bool is_one_accuracy() const {
    return results_.outputs.size() == 1 && results_.outputs.front().is_accuracy;
  }

  /// On the test set, by output.
  std::vector<OutputEvaluation> scores_of(const Model& network) const {
    return evaluate_outputs(network, data_.test, &group_);
  }

  /// The name under which the score of an output is kept.
  std::string kept_score(std::size_t output) const {
    return is_one_accuracy() ? "accuracy" : "score of " + results_.outputs[output].name;
  }

  void keep_scores(const Model& network) {
    const std::vector<OutputEvaluation> scores = scores_of(network);
    for (std::size_t k = 0; k < scores.size(); ++k) run_.keep(kept_score(k), scores[k].score());
  }

  /// What task_scores() gives of the test set, by output.
  std::vector<std::vector<MetricValue>> task_scores_of(const IntegerModel& model,
                                                       ProcessGroup* group) const {
    return task_scores(model, data_.test, task_of_run(), anomalies_, group);
  }

  std::optional<Task> task_of_run() const {
    return options_.task ? options_.task : task_of(data_.train);
  }

  std::string kept_task_score(std::size_t output, const std::string& name) const {
    return fmt::format("{} of {}", name, results_.outputs[output].name);
  }

  void keep_task_scores(const Model& network) {
    const auto scores = task_scores_of(lower_float(network), &group_);
    for (std::size_t k = 0; k < scores.size(); ++k) {
      for (const MetricValue& score : scores[k]) {
        run_.keep(kept_task_score(k, score.name), score.value);
      }
    }
  }

  /// Takes the accuracies of calibration, which a record has as metrics where outputs are several.
  void keep_calibrated(const EpochRecord& start) {
    for (std::size_t k = 0; k < names_.size(); ++k) {
      results_.outputs[k].calibrated =
          names_.size() == 1 ? start.integer_accuracy
                             : find_metric(start, names_[k].layer + "_integer_accuracy");
    }
  }

  /// `later_epochs` are those of the phases behind this one.
  Trainer make_trainer(Model& network, Schedule schedule, std::uint64_t seed, Profile& profile,
                       int later_epochs) {
    TrainerOptions how{.scored_on = data_.validation.empty() ? "test" : "validation",
                       .batch_size = options_.batch,
                       .seed = seed,
                       .shards = options_.shards,
                       .gradients = options_.gradients,
                       .backward = options_.backward,
                       .angles = &results_.gradient_angles,
                       .group = &group_,
                       .augment = changed_examples(options_, network, data_.train),
                       .augments_signals = data_.train.signals() != nullptr,
                       .calibration_batches = calibration_batches(options_),
                       .profile = options_.profile ? &profile : nullptr,
                       .metadata = results_.example_metadata,
                       .should_stop = [this] { return signals_.requested(); }};
    set_losses(how, losses_of(options_.losses, network, names_, data_.train));
    if (mixes_labels(options_, data_.train)) how.loss = categorical_cross_entropy();
    if (!class_weights_.empty()) how.loss = class_weighted_cross_entropy(class_weights_);
    Trainer trainer(network, optimizer_of(options_, std::move(schedule)), std::move(how));
    if (!group_.is_root()) return trainer;
    const auto style =
        options_.no_progress ? ProgressBar::Style::lines : ProgressBar::Style::automatic;
    trainer.add_callback(std::make_shared<ProgressBar>(screen_, style, later_epochs));
    return trainer;
  }

  std::string exchange_of(const Trainer& trainer, const Profile& profile) {
    if (!options_.profile || group_.size() == 1) return "";
    return exchange_table(group_, profile, trainer.step_traffic());
  }

  /// Whether the float model is that of FILE, untrained: every run has it, and no checkpoint does.
  bool float_model_is_given() const { return !options_.file.empty() && options_.epochs == 0; }

  /// The trainer of the steps after those in float, quantized or as the control.
  Trainer qat_trainer(Model& network, Profile& profile, int later_epochs) {
    const std::uint64_t offset = float_model_is_given() ? 0 : kQatSeedOffset;
    return make_trainer(network, qat_schedule(options_, data_.train), options_.seed + offset,
                        profile, later_epochs);
  }

  /// The .tflite file of the float model, which says as much of examples as that of the integers.
  std::vector<std::uint8_t> float_file_of(const Model& model) const {
    IntegerModel lowered = lower_float(model);
    for (const auto& [key, text] : results_.example_metadata) lowered.metadata[key] = text;
    return to_tflite(lowered);
  }

  bool needs_control() const { return options_.control && run_.needs("control"); }

  bool train_in_float(Model& model) {
    // The checkpoints of the control hold its own weights alone.
    const std::filesystem::path checkpoint = options_.checkpoint_dir / "float.ckpt";
    const std::shared_ptr<ReduceOnPlateau> plateau = plateau_of(options_, screen_);
    const Schedule schedule = float_schedule(options_, data_.train);
    Trainer trainer =
        make_trainer(model, plateau ? plateau->over(schedule) : schedule, options_.seed,
                     results_.float_profile, options_.qat_epochs * (options_.control ? 2 : 1));
    if (plateau) trainer.add_callback(plateau);
    add_ends(options_, trainer);
    if (run_.needs("float")) {
      if (!run_.fit("float", trainer, options_.epochs)) return false;
      show(screen_, early_end_text(options_, trainer.history()));
      results_.float_exchange = exchange_of(trainer, results_.float_profile);
      keep_scores(model);
      keep_task_scores(model);
      const std::vector<std::uint8_t> file = float_file_of(model);
      if (group_.is_root()) write_file_atomic(options_.out / application_.float_file(), file);
      run_.keep("bytes", static_cast<double>(file.size()));
      if (!float_model_is_given() && (options_.control || !options_.report.empty())) {
        trainer.save_checkpoint(checkpoint);
      }
      if (searches_bits(options_)) search(with_layer_bits(options_, model));
    } else if (needs_control() && !float_model_is_given()) {
      trainer.load_checkpoint(checkpoint);
    }
    for (std::size_t k = 0; k < names_.size(); ++k) {
      results_.outputs[k].in_float = run_.kept("float", kept_score(k));
    }
    results_.float_bytes = static_cast<std::uintmax_t>(run_.kept("float", "bytes"));
    return true;
  }

  /// A run that is resumed later has the bits again.
  void search(const Model& model) {
    const BitSearch found =
        search_bits(options_, model, losses_of(options_.losses, model, names_, data_.train),
                    data_.train, options_.quantize, group_);
    for (const auto& [layer, bits] : found.chosen_bits()) {
      run_.keep(kept_bits(layer), static_cast<double>(bits));
    }
    show(screen_, search_report(options_, found));
  }

  void set_searched_bits(Model& model) const {
    if (!searches_bits(options_)) return;
    for (const auto& layer : model.layers()) {
      if (!is_searched(*layer)) continue;
      const auto bits = static_cast<int>(run_.kept("float", kept_bits(layer->name())));
      set_weight_bits(model, {{layer->name(), bits}});
    }
  }
  static std::string kept_bits(const std::string& layer) { return "bits of " + layer; }

  /// Takes a copy of the float model through the steps of quantized training, where asked to.
  bool train_control(const Model& model) {
    if (!options_.control) return true;
    if (needs_control()) {
      show(screen_, "control: a copy goes on in float\n");
      Model copy = model;
      Profile not_shown;
      Trainer trainer = qat_trainer(copy, not_shown, options_.qat_epochs);
      if (!run_.fit("control", trainer, options_.qat_epochs)) return false;
      keep_scores(copy);
    }
    for (std::size_t k = 0; k < names_.size(); ++k) {
      results_.outputs[k].control = run_.kept("control", kept_score(k));
    }
    return true;
  }

  /// Writes the trained integers as files, and holds the very file against the trained model.
  void export_and_compare(const Trainer& trainer, const Model& quantized,
                          const std::vector<OutputEvaluation>& simulated) {
    const std::filesystem::path path = options_.out / application_.int8_file();
    const bool wide = options_.quantize.activation_bits == kInt16Bits;
    if (task_of_run() == Task::reconstruction && data_.train.outputs() == 1) {
      results_.anomaly_threshold = anomaly_threshold(trainer.lower(), data_.train);
    }
    write_tflite(lowered(trainer, {.pack_weights = !wide}), path);
    results_.int8_bytes = std::filesystem::file_size(path);
    const IntegerModel file = read_tflite(path);
    results_.warnings = runtime_warnings(file);
    export_other_formats(lowered(trainer), application_, options_, data_.test, results_);
    const std::vector<OutputEvaluation> shipped = evaluate_outputs(file, data_.test);
    for (std::size_t k = 0; k < shipped.size(); ++k) {
      results_.outputs[k].simulated = simulated[k].score();
      results_.outputs[k].integer = shipped[k].score();
    }
    const auto scores = task_scores_of(file, nullptr);
    const auto baselines = task_baselines(file, data_.test, task_of_run(), anomalies_);
    for (std::size_t k = 0; k < scores.size(); ++k) {
      results_.outputs[k].baseline = baselines[k];
      for (const MetricValue& score : scores[k]) {
        results_.outputs[k].scores.push_back(
            {score.name, run_.kept("float", kept_task_score(k, score.name)), score.value});
      }
    }
    results_.differing_predictions =
        is_one_accuracy() ? count_differing(*simulated.front().classes, *shipped.front().classes)
                          : count_differing_outputs(quantized, file, data_.test);
    results_.layer_differences = compare_networks(quantized, file, data_.test);
  }

  /// The integers as trained, with what files say besides of the threshold for anomalies.
  IntegerModel lowered(const Trainer& trainer, const LowerOptions& options = {}) const {
    IntegerModel model = trainer.lower(options);
    if (results_.anomaly_threshold) {
      model.metadata[kAnomalyThresholdKey] = metadata_text(*results_.anomaly_threshold);
    }
    return model;
  }

  /// The trained float model: in a run that was resumed after it, that of its checkpoint.
  std::optional<Model> trained_float() const {
    if (float_model_is_given()) {
      Model model = application_.make_model(options_, data_.train);
      set_searched_bits(model);
      return model;
    }
    const std::filesystem::path checkpoint = options_.checkpoint_dir / "float.ckpt";
    if (!broadcast_flag(group_, group_.is_root() && std::filesystem::exists(checkpoint))) {
      return std::nullopt;
    }
    Model model = load_model(checkpoint, group_);
    // It may be that of a run before this one.
    if (float_file_of(model) != file_of_run(options_, application_.float_file(), group_)) {
      return std::nullopt;
    }
    set_searched_bits(model);
    return model;
  }

  void write_report_page(const Model& quantized, std::string& metrics) const {
    if (options_.report.empty()) return;
    const std::optional<Model> in_float = trained_float();
    const std::optional<Verdict> verdict = write_page(
        application_, options_, in_float ? &*in_float : nullptr, quantized, data_, metrics, group_);
    if (!verdict) return;
    write_file_atomic(options_.out / "metrics.json", with_verdict(metrics, *verdict, 2));
    metrics = with_verdict(metrics, *verdict, -1);
    show(screen_, fmt::format("\n{}\nreport: {}\n", to_text(*verdict), options_.report.string()));
  }

  /// All ranks measure what the page says.
  void finish(const Model& quantized) {
    std::string metrics;
    if (group_.is_root()) {
      const RunReport report =
          run_.finish(options_.out / application_.int8_file(), metrics_json(options_, results_));
      show(screen_, final_report(application_, options_, results_, run_.history(), report));
      metrics = report.metrics;
    }
    write_report_page(quantized, metrics);
    show(screen_, fmt::format("\n{:.1f} s in all\n", octet::detail::clock_seconds() - begin_));
    if (options_.json && group_.is_root()) show(stdout, metrics);
  }

  const double begin_ = octet::detail::clock_seconds();
  const Application& application_;
  const Options& options_;
  ProcessGroup& group_;
  /// Null on ranks other than 0.
  std::FILE* screen_;
  const StopSignals& signals_;
  TrainingRun run_;
  DataSplit data_;
  Normalization normalization_;
  /// The classes that a reconstruction of labelled examples learns, and of each test
  /// example 1 for one of another class, else 0; see anomalies_in().
  std::vector<std::string> normal_classes_;
  Labels anomalies_;
  /// By output of the model.
  std::vector<OutputName> names_;
  /// By label; empty: all examples weigh alike.
  std::vector<float> class_weights_;
  Results results_;
};

}  // namespace

void show(std::FILE* screen, const std::string& text) {
  if (screen == nullptr) return;
  print_text(screen, text);
  // Who watches a log sees it before the first epoch ends.
  static_cast<void>(std::fflush(screen));
}

bool train(const Application& application, const Options& options, std::FILE* screen,
           const StopSignals& signals, ProcessGroup& group) {
  return Run(application, options, screen, signals, group).train();
}

}  // namespace octet::application
