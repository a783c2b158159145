#include <fmt/core.h>
#include <octet/core/archive.h>
#include <octet/core/error.h>
#include <octet/core/log.h>
#include <octet/core/parallel.h>
#include <octet/deploy/c/writer.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/program/program.h>
#include <octet/layers/quantize/kernel_ranges.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/train/data/fingerprint.h>
#include <octet/train/distributed/messages.h>
#include <octet/train/distributed/shard_tree.h>
#include <octet/train/distributed/sharded_calibration.h>
#include <octet/train/epoch_text.h>
#include <octet/train/evaluate_internal.h>
#include <octet/train/faults.h>
#include <octet/train/model_inputs.h>
#include <octet/train/trainer.h>

#include <algorithm>

namespace octet {
namespace {

/// A digest of names and values.
std::string digest_of(const std::vector<NamedTensor>& tensors) {
  Archive archive;
  for (const auto& [name, tensor] : tensors) archive.add(name, tensor);
  return fmt::format("{:016x}", xxh64(archive.to_bytes()));
}

void check_epochs(const char* function, int epochs) {
  if (epochs >= 0) return;
  throw InvalidArgument(
      fmt::format("Trainer::{}: expected 0 epochs or more, found {}", function, epochs));
}

void check_trainable(const Model& model) {
  const auto parameters = model.parameters();
  const auto frozen = [](const NamedTensor& named) { return !named.tensor.requires_grad(); };
  if (parameters.empty() || !std::ranges::all_of(parameters, frozen)) return;
  throw InvalidArgument(
      "Trainer: every layer is frozen: there is nothing to train; see Layer::set_trainable()");
}

/// Whether steps are repeated over time.
bool is_recurrent(const Program& program) {
  return std::ranges::any_of(program.steps,
                             [](const Step& step) { return step.range_key.has_value(); });
}

void check_test_set(const Model& model, const Dataset& test) {
  if (test.empty()) {
    throw InvalidArgument(fmt::format(
        "Trainer: the test set '{}' is empty; to train without one, leave it out", test.name()));
  }
  fit_to_inputs(model, test.batch(0, 1));
}

}  // namespace

std::size_t default_shards(int ranks) {
  constexpr std::size_t kOfSeveralRanks = 8;
  return ranks == 1 ? 1 : std::max(kOfSeveralRanks, static_cast<std::size_t>(ranks));
}

Trainer::Trainer(Model& model, std::unique_ptr<Optimizer> optimizer, TrainerOptions options)
    : model_(&model), optimizer_(std::move(optimizer)), options_(std::move(options)) {
  if (!options_.loss || !optimizer_) {
    throw InvalidArgument("Trainer: expected a loss and an optimizer, found none");
  }
  static_cast<void>(to_string(options_.gradients));  // Throws where it has no name.
  if (options_.batch_size == 0) {
    throw InvalidArgument("Trainer: expected a batch size of at least 1, found 0");
  }
  if (options_.accumulate_batches == 0) {
    throw InvalidArgument("Trainer: expected accumulate_batches of at least 1, found 0");
  }
  if (options_.shards == 0) {
    options_.shards = default_shards(group_or_alone(options_.group).size());
  }
  if (options_.shards > options_.batch_size) {
    throw InvalidArgument(
        fmt::format("Trainer: expected at most as many shards as examples in a batch, {}, found {}",
                    options_.batch_size, options_.shards));
  }
  if (options_.clip_norm && !(*options_.clip_norm >= 0.0)) {
    throw InvalidArgument(fmt::format(
        "Trainer: expected a clip_norm above 0, or 0 for none, found {}", *options_.clip_norm));
  }
  if (options_.freeze_batch_norm_after.value_or(0) < 0) {
    throw InvalidArgument(
        fmt::format("Trainer: expected freeze_batch_norm_after to be 0 epochs or more, found {}",
                    *options_.freeze_batch_norm_after));
  }
  losses_ = detail::losses_by_output("Trainer", *model_, options_.loss, options_.metrics,
                                     options_.losses);
  for (std::size_t k = 0; k < losses_.size(); ++k) {
    require_output_for(losses_[k].loss, *model_, k);
  }
  detail::check_metrics_of(losses_);
  if (!model_->built()) model_->build(options_.seed);
  if (!options_.clip_norm) options_.clip_norm = is_recurrent(model_->program()) ? 1.0 : 0.0;
  ParameterGroup scales = learned_scales(*model_, options_.learned_scale_rate);
  if (std::ranges::any_of(model_->parameters(),
                          [&](const NamedTensor& each) { return scales.contains(each.name); })) {
    scales.may_be_empty = true;
    optimizer_->add_group(std::move(scales));
  }
  optimizer_->build(model_->parameters());
  phase_ = is_quantized(*model_) ? "qat" : "float";
}

Optimizer& Trainer::optimizer() const {
  if (optimizer_ != nullptr) return *optimizer_;
  throw InvalidArgument(
      "Trainer: expected a trainer with its optimizer, found one that was moved from");
}

void Trainer::add_callback(std::shared_ptr<Callback> callback) {
  if (!callback) throw InvalidArgument("Trainer: expected a callback, found null");
  callbacks_.push_back(std::move(callback));
}

void Trainer::add_callback(CallbackFunctions functions) {
  add_callback(make_callback(std::move(functions)));
}

const History& Trainer::fit(const Dataset& train, const Dataset& test, int epochs) {
  check_epochs("fit", epochs);
  return train_until(train, &test, position_.epoch + epochs);
}

const History& Trainer::fit(const Dataset& train, int epochs) {
  check_epochs("fit", epochs);
  return train_until(train, nullptr, position_.epoch + epochs);
}

const History& Trainer::fit_until(const Dataset& train, const Dataset& test, int epochs) {
  check_epochs("fit_until", epochs);
  return train_until(train, &test, epochs);
}

const History& Trainer::fit_until(const Dataset& train, int epochs) {
  check_epochs("fit_until", epochs);
  return train_until(train, nullptr, epochs);
}

const History& Trainer::train_until(const Dataset& train, const Dataset* test, Index last) {
  static_cast<void>(optimizer());
  warnings_.clear();
  const CollectWarnings collect(warnings_);
  if (position_.epoch < last) check_trainable(*model_);
  DataLoader loader(train, loader_options());
  const std::size_t outputs = model_->output_layers().size();
  detail::check_outputs("Trainer", train, outputs);
  if (test != nullptr) detail::check_outputs("Trainer", *test, outputs);
  // Before an epoch is spent on it.
  if (test != nullptr) check_test_set(*model_, *test);
  require_same_ranks(train, test);
  stopped_ = false;
  // An epoch that goes on knows already what an Augment has made of its labels.
  has_classes_ = losses_.size() == 1 && train.has_labels() && (has_classes_ || sums_.images == 0.0);
  for (const auto& callback : callbacks_) callback->on_fit_begin(*this, history_);
  prepare(train, test);
  const auto wants_stop = [](const auto& callback) { return callback->wants_stop(); };
  ProcessGroup& group = group_or_alone(options_.group);
  while (position_.epoch < last &&
         !broadcast_flag(group, std::ranges::any_of(callbacks_, wants_stop))) {
    loader.seek(position_);
    bool whole = false;
    // An epoch is very many short loops.
    try {
      parallel_region([&] { whole = run_epoch(loader, last); });
    } catch (...) {
      if (options_.group != nullptr) options_.group->leave_place();
      throw;
    }
    if (options_.group != nullptr) options_.group->set_place("");
    if (!whole) {
      stopped_ = true;
      break;
    }
    finish_epoch(test);
    tell(detail::epoch_line(history_.back(), static_cast<int>(last), options_.scored_on));
  }
  if (!stopped_) {
    for (const auto& callback : callbacks_) callback->on_fit_end(*this);
  }
  return history_;
}

LoaderOptions Trainer::loader_options() const {
  const detail::ShardTree tree(options_.shards, group_or_alone(options_.group));
  return {.batch_size = options_.batch_size,
          .shuffle = options_.shuffle,
          .seed = options_.seed,
          .augment = options_.augment,
          .augments_signals = options_.augments_signals,
          .shards = options_.shards,
          .own_shards = tree.own()};
}

void Trainer::require_same_ranks(const Dataset& train, const Dataset* test) const {
  ProcessGroup& group = group_or_alone(options_.group);
  if (group.size() == 1) return;
  require_same(group, {{"program", program_digest()},
                       {"training data", fingerprint(train)},
                       {"test data", test == nullptr ? "none" : fingerprint(*test)},
                       {"shards", fmt::format("{}", options_.shards)},
                       {"gradients", std::string(to_string(options_.gradients))},
                       {"batch size",
                        fmt::format("{} x {}", options_.batch_size, options_.accumulate_batches)},
                       {"seed", fmt::format("{}", options_.seed)},
                       {"optimizer", std::string(optimizer().type())},
                       {"model", digest_of(model_->saved_tensors())},
                       {"state of the optimizer", digest_of(optimizer().state())},
                       {"steps done", fmt::format("{}", step_)}});
}

void Trainer::prepare(const Dataset& train, const Dataset* test) {
  if (!is_quantized(*model_) || has_ranges(*model_)) return;
  DataLoader loader(train, loader_options());
  loader.start_epoch(position_.epoch);
  detail::ShardedCalibration calibration(*model_, group_or_alone(options_.group));
  std::vector<Batch> shards;
  for (std::size_t i = 0; i < std::max<std::size_t>(options_.calibration_batches, 1); ++i) {
    if (!loader.next(shards)) break;
    try {
      calibration.add(shards);
    } catch (const NumericError&) {
      const std::string fault = data_at_fault(shards);
      if (fault.empty()) throw;
      throw NumericError(fmt::format("calibration on batch {}: {}", i + 1, fault));
    }
  }
  refresh_kernel_ranges(*model_);
  if (is_root()) std::ranges::for_each(range_warnings(*model_), log_warn);
  if (test == nullptr) return;
  calibrated_.emplace();
  calibrated_->phase = phase_;
  score(*calibrated_, *test);
  tell(detail::calibrated_line(*calibrated_, options_.scored_on));
  for (const auto& callback : callbacks_) callback->on_calibrated(*this, *calibrated_);
}

bool Trainer::freezes_batch_norm(const DataLoader& loader, Index last) const {
  if (options_.freeze_batch_norm_after) return position_.epoch >= *options_.freeze_batch_norm_after;
  return 3 * step_ >= 2 * steps_of_epochs(loader, last);
}

std::uint64_t Trainer::steps_of(Index batches) const {
  const std::uint64_t per_step = options_.accumulate_batches;
  return (static_cast<std::uint64_t>(batches) + per_step - 1) / per_step;
}

std::uint64_t Trainer::steps_of_epochs(const DataLoader& loader, Index epochs) const {
  return static_cast<std::uint64_t>(epochs) * steps_of(static_cast<Index>(loader.batches()));
}

std::optional<double> Trainer::accuracy_so_far() const {
  return has_classes_ ? std::optional(sums_.right / sums_.images) : std::nullopt;
}

void Trainer::finish_epoch(const Dataset* test) {
  // The last step may have done it, with no loss after it to tell.
  if (const std::string fault = parameter_at_fault(*model_); !fault.empty()) {
    throw NumericError(
        fmt::format("training stopped at epoch {}, step {}: {}. Try a smaller "
                    "learning rate",
                    position_.epoch + 1, position_.batch, fault));
  }
  // What is scored, saved and exported has the ranges of the kernels that the last step left.
  refresh_kernel_ranges(*model_);
  EpochRecord record;
  record.phase = phase_;
  record.epoch = static_cast<int>(position_.epoch) + 1;
  record.train_loss = sums_.loss / sums_.images;
  record.train_accuracy = accuracy_so_far();
  record.seconds = sums_.seconds;
  record.images_per_second = sums_.images / std::max(sums_.seconds, 1e-9);
  record.learning_rate = optimizer().learning_rate(step_ - steps_of(position_.batch));
  if (test != nullptr) score(record, *test);
  history_.push_back(record);
  sums_ = {};
  position_ = {position_.epoch + 1, 0};
  for (const auto& callback : callbacks_) callback->on_epoch_end(*this, record);
}

void Trainer::tell(const std::string& line) const {
  const auto shows = [](const auto& callback) { return callback->shows_epochs(); };
  if (is_root() && std::ranges::none_of(callbacks_, shows)) log_info(line);
}

std::vector<Metric> Trainer::metrics_for(const Dataset& test) const {
  std::vector<Metric> metrics = options_.metrics;
  const auto needs = [](const auto& callback) { return callback->needs_test_loss(); };
  if (options_.test_loss || !test.has_labels() || std::ranges::any_of(callbacks_, needs)) {
    // Targets that an Augment mixes are labels in the test set.
    const Loss& loss = options_.loss;
    metrics.insert(
        metrics.begin(),
        loss_metric(detail::kTestLoss, test.has_labels() ? detail::loss_of_labels(loss) : loss));
  }
  return metrics;
}

/// The integers of the model, or none where lower() refuses it.
std::optional<IntegerModel> Trainer::exportable() {
  try {
    return lower();
  } catch (const InvalidArgument& error) {
    // Once for each reason, not once for each epoch.
    if (refusal_ != error.what()) {
      log_warn(
          fmt::format("the test set is scored by simulation alone, since the model cannot be "
                      "exported: {}",
                      error.what()));
    }
    refusal_ = error.what();
    return std::nullopt;
  }
}

void Trainer::score_outputs(EpochRecord& record, const Dataset& test) {
  ProcessGroup* group = options_.group;
  record.metrics = measure(*model_, test, detail::metrics_of(losses_), group);
  double total = 0.0;
  for (const OutputLoss& each : losses_) {
    total += static_cast<double>(each.weight) * *find_metric(record, each.output + "_loss");
  }
  record.metrics.insert(record.metrics.begin(), {detail::kTestLoss, total});
  const auto add = [&](const std::vector<OutputEvaluation>& results, const char* what) {
    for (std::size_t k = 0; k < losses_.size(); ++k) {
      if (!results[k].classes) continue;
      record.metrics.push_back({losses_[k].output + what, results[k].score()});
    }
  };
  add(evaluate_outputs(*model_, test, group), "_accuracy");
  const std::optional<IntegerModel> lowered = is_quantized(*model_) ? exportable() : std::nullopt;
  if (!lowered) return;
  add(evaluate_outputs(*lowered, test, group), "_integer_accuracy");
  record.differing_predictions = count_differing_outputs(*model_, *lowered, test, group);
}

void Trainer::score(EpochRecord& record, const Dataset& test) {
  if (losses_.size() > 1) {
    score_outputs(record, test);
    return;
  }
  const std::vector<Metric> metrics = metrics_for(test);
  ProcessGroup* group = options_.group;
  if (!metrics.empty()) record.metrics = measure(*model_, test, metrics, group);
  const std::optional<IntegerModel> lowered = is_quantized(*model_) ? exportable() : std::nullopt;
  if (!test.has_labels()) {
    if (lowered) {
      record.differing_predictions = count_differing_outputs(*model_, *lowered, test, group);
    }
    return;
  }
  const Evaluation simulated = evaluate(test);
  record.test_accuracy = simulated.accuracy;
  if (!lowered) return;
  const Evaluation integer = octet::evaluate(*lowered, test, group);
  record.integer_accuracy = integer.accuracy;
  record.differing_predictions = count_differing(simulated, integer);
}

IntegerModel Trainer::lower(const LowerOptions& options) const {
  IntegerModel lowered = octet::lower(WithCurrentKernelRanges(*model_).model(), options);
  lowered.metadata.insert(options_.metadata.begin(), options_.metadata.end());
  return lowered;
}

void Trainer::export_int8(const std::filesystem::path& path, const LowerOptions& options) const {
  if (is_root()) write_tflite(lower(options), path);
}

CSource Trainer::export_c_source(const std::filesystem::path& stem) const {
  return export_c_source(stem, {});
}

CSource Trainer::export_c_source(const std::filesystem::path& stem,
                                 const CSourceOptions& options) const {
  if (!is_root()) return {};
  return write_c_source(lower(), stem, options);
}

void Trainer::export_onnx(const std::filesystem::path& path) const { export_onnx(path, {}); }

void Trainer::export_onnx(const std::filesystem::path& path, const OnnxOptions& options) const {
  if (is_root()) write_onnx(lower(), path, options);
}

Progress Trainer::progress(const DataLoader& loader, Index last) const {
  return {.phase = phase_,
          .epoch = static_cast<int>(position_.epoch) + 1,
          .epochs = static_cast<int>(last),
          .batch = static_cast<std::size_t>(position_.batch),
          .batches = loader.batches(),
          .step = step_,
          .loss = sums_.loss / sums_.images,
          .accuracy = accuracy_so_far(),
          .seconds = sums_.seconds,
          .images = sums_.images};
}

}  // namespace octet
