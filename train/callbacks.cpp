#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/train/callbacks.h>
#include <octet/train/trainer.h>

#include <algorithm>
#include <utility>

namespace octet {
namespace {

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
  return -find_metric(record, "test_loss").value_or(record.train_loss);
}

EarlyStopping::EarlyStopping(int patience, double min_delta, Score score)
    : patience_(patience),
      min_delta_(min_delta),
      score_(checked_score("EarlyStopping", std::move(score))) {
  if (patience < 1) {
    throw InvalidArgument(
        fmt::format("EarlyStopping: expected a patience of at least 1, found {}", patience));
  }
}

void EarlyStopping::on_fit_begin(Trainer& /*trainer*/, const History& history) {
  best_ = -std::numeric_limits<double>::infinity();
  waited_ = 0;
  for (const EpochRecord& record : history) take(record);
}

void EarlyStopping::on_epoch_end(Trainer& /*trainer*/, const EpochRecord& record) { take(record); }

void EarlyStopping::take(const EpochRecord& record) {
  const double score = score_(record);
  waited_ = score > best_ + min_delta_ ? 0 : waited_ + 1;
  best_ = std::max(best_, score);
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
