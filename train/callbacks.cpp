#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/log.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/train/callbacks.h>
#include <octet/train/trainer.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace octet {
namespace {

/// The names of what EarlyStopping has in a checkpoint.
constexpr const char* kKeptEpoch = "epoch";
constexpr std::string_view kKept = "kept/";

Score checked_score(std::string_view callback, Score score) {
  if (score) return score;
  throw InvalidArgument(fmt::format("{}: expected a score, found an empty function", callback));
}

/// CallbackFunctions as a Callback.
class FunctionCallback : public Callback {
 public:
  explicit FunctionCallback(CallbackFunctions functions) : functions_(std::move(functions)) {}

  void on_fit_begin(Trainer& trainer, const History& history) override {
    if (functions_.on_fit_begin) functions_.on_fit_begin(trainer, history);
  }
  void on_calibrated(Trainer& trainer, const EpochRecord& start) override {
    if (functions_.on_calibrated) functions_.on_calibrated(trainer, start);
  }
  void on_step_begin(Trainer& trainer, std::uint64_t step) override {
    if (functions_.on_step_begin) functions_.on_step_begin(trainer, step);
  }
  void on_step_end(Trainer& trainer, const Progress& progress) override {
    if (functions_.on_step_end) functions_.on_step_end(trainer, progress);
  }
  void on_epoch_end(Trainer& trainer, const EpochRecord& record) override {
    if (functions_.on_epoch_end) functions_.on_epoch_end(trainer, record);
  }
  bool wants_stop() const override { return functions_.wants_stop && functions_.wants_stop(); }
  void on_fit_end(Trainer& trainer) override {
    if (functions_.on_fit_end) functions_.on_fit_end(trainer);
  }

 private:
  CallbackFunctions functions_;
};

}  // namespace

std::shared_ptr<Callback> make_callback(CallbackFunctions functions) {
  return std::make_shared<FunctionCallback>(std::move(functions));
}

void CsvLog::on_epoch_end(Trainer& trainer, const EpochRecord& /*record*/) {
  if (trainer.is_root()) write_file_atomic(path_, history_csv(trainer.history()));
}

double score_of(const EpochRecord& record) {
  if (record.integer_accuracy) return *record.integer_accuracy;
  if (record.test_accuracy) return *record.test_accuracy;
  return loss_score(record);
}

double loss_score(const EpochRecord& record) {
  return -find_metric(record, "test_loss").value_or(record.train_loss);
}

bool detail::BestScore::take(const EpochRecord& record, const Score& of, double min_delta) {
  const double own = of ? of(record) : loss_score(record);
  const bool is_better = own > score + min_delta;
  if (is_better) score = own;
  waited = is_better ? 0 : waited + 1;
  return is_better;
}

EarlyStopping::EarlyStopping(int patience, EarlyStoppingOptions options)
    : patience_(patience), options_(std::move(options)) {
  if (patience < 1) {
    throw InvalidArgument(
        fmt::format("EarlyStopping: expected a patience of at least 1, found {}", patience));
  }
}

void EarlyStopping::on_fit_begin(Trainer& /*trainer*/, const History& history) {
  best_ = {};
  best_epoch_ = 0;
  for (const EpochRecord& record : history) take(record);
}

void EarlyStopping::on_epoch_end(Trainer& trainer, const EpochRecord& record) {
  take(record);
  if (!options_.restore_best_weights || best_epoch_ != record.epoch) return;
  kept_ = {};
  for (const auto& [name, tensor] : trainer.model().saved_tensors()) {
    kept_.add(name, tensor.detach().clone());
  }
  kept_epoch_ = best_epoch_;
}

std::vector<NamedTensor> EarlyStopping::state() const {
  if (!options_.restore_best_weights) return {};
  std::vector<NamedTensor> result = {{kKeptEpoch, Tensor::scalar(static_cast<float>(kept_epoch_))}};
  for (const auto& [name, tensor] : kept_.tensors())
    result.push_back({std::string(kKept) + name, tensor});
  return result;
}

void EarlyStopping::set_state(const std::vector<NamedTensor>& state) {
  kept_ = {};
  kept_epoch_ = 0;
  for (const auto& [name, tensor] : state) {
    if (name == kKeptEpoch) kept_epoch_ = static_cast<int>(tensor.item());
    if (name.starts_with(kKept)) kept_.add(name.substr(kKept.size()), tensor);
  }
}

void EarlyStopping::take(const EpochRecord& record) {
  if (best_.take(record, options_.score, options_.min_delta)) best_epoch_ = record.epoch;
}

void EarlyStopping::on_fit_end(Trainer& trainer) {
  if (wants_stop() && trainer.is_root()) {
    log_info(
        fmt::format("early stopping after epoch {}: no better {} for {} epochs, the best was "
                    "{:.6g} in epoch {}",
                    trainer.history().back().epoch, options_.score ? "score" : "loss", best_.waited,
                    options_.score ? best_.score : -best_.score, best_epoch_));
  }
  if (options_.restore_best_weights && best_epoch_ > 0) restore(trainer);
}

void EarlyStopping::restore(Trainer& trainer) const {
  if (kept_epoch_ == best_epoch_) {
    if (trainer.history().back().epoch == best_epoch_) return;
    trainer.model().restore(kept_);
    if (trainer.is_root()) log_info(fmt::format("weights of epoch {} restored", best_epoch_));
    return;
  }
  if (!trainer.is_root()) return;
  log_warn(fmt::format(
      "EarlyStopping: the weights of epoch {}, the best, are not restored: the run "
      "was resumed after it, from a checkpoint without them; add EarlyStopping before the callback "
      "that saves checkpoints",
      best_epoch_));
}

BestCheckpoint::BestCheckpoint(std::filesystem::path path, Score score)
    : path_(std::move(path)), score_(checked_score("BestCheckpoint", std::move(score))) {}

void BestCheckpoint::on_fit_begin(Trainer& /*trainer*/, const History& history) {
  best_ = -std::numeric_limits<double>::infinity();
  for (const EpochRecord& record : history) best_ = std::max(best_, score_(record));
}

void BestCheckpoint::on_epoch_end(Trainer& trainer, const EpochRecord& record) {
  const double score = score_(record);
  if (!(score > best_)) return;
  best_ = score;
  trainer.save_checkpoint(path_);
}

void LastCheckpoint::on_fit_begin(Trainer& trainer, const History& /*history*/) {
  if (trainer.is_root()) remove_temporaries_left_behind(path_.parent_path());
}

void LastCheckpoint::on_epoch_end(Trainer& trainer, const EpochRecord& /*record*/) {
  trainer.save_checkpoint(path_, notes_);
}

void RangeFreeze::on_step_begin(Trainer& trainer, std::uint64_t step) {
  freeze_ranges(trainer.model(), step >= step_);
}

void QuantizationDelay::on_step_begin(Trainer& trainer, std::uint64_t step) {
  enable_quantization(trainer.model(), step >= step_);
}

}  // namespace octet
