#pragma once

#include <octet/train/callback.h>

#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <string>

namespace octet {

/// Writes history_csv() after every epoch; the file is replaced as a whole.
class CsvLog : public Callback {
 public:
  explicit CsvLog(std::filesystem::path path) : path_(std::move(path)) {}
  void on_epoch_end(Trainer& trainer, const EpochRecord& record) override;

 private:
  std::filesystem::path path_;
};

/// What early stopping and the best checkpoint go by unless told otherwise: the integer accuracy
/// where there is one, else the test accuracy, else the negated "test_loss", without a test set the
/// negated training loss. Higher is better.
double score_of(const EpochRecord& record);

/// What a callback goes by instead, higher is better: e.g. minus one of the metrics.
using Score = std::function<double(const EpochRecord& record)>;

/// Ends a fit after `patience` epochs in a row without a score above the best by `min_delta`.
class EarlyStopping : public Callback {
 public:
  /// Throws InvalidArgument for a patience below 1 and for an empty score.
  explicit EarlyStopping(int patience, double min_delta = 0.0, Score score = score_of);
  void on_fit_begin(Trainer& trainer, const History& history) override;
  void on_epoch_end(Trainer& trainer, const EpochRecord& record) override;
  bool wants_stop() const override { return waited_ >= patience_; }

 private:
  void take(const EpochRecord& record);

  int patience_;
  double min_delta_;
  Score score_;
  double best_ = -std::numeric_limits<double>::infinity();
  int waited_ = 0;
};

/// Saves a checkpoint after each epoch whose score is the best so far.
class BestCheckpoint : public Callback {
 public:
  /// Throws InvalidArgument for an empty score.
  explicit BestCheckpoint(std::filesystem::path path, Score score = score_of);
  void on_fit_begin(Trainer& trainer, const History& history) override;
  void on_epoch_end(Trainer& trainer, const EpochRecord& record) override;

 private:
  std::filesystem::path path_;
  Score score_;
  double best_ = -std::numeric_limits<double>::infinity();
};

/// Saves a checkpoint after every epoch. When a fit begins, the temporary files that dead processes
/// left in its folder are removed.
class LastCheckpoint : public Callback {
 public:
  explicit LastCheckpoint(std::filesystem::path path, std::map<std::string, std::string> notes = {})
      : path_(std::move(path)), notes_(std::move(notes)) {}
  void on_fit_begin(Trainer& trainer, const History& history) override;
  void on_epoch_end(Trainer& trainer, const EpochRecord& record) override;

 private:
  std::filesystem::path path_;
  std::map<std::string, std::string> notes_;
};

/// Keeps the ranges of activations as they are from step `step` on.
class RangeFreeze : public Callback {
 public:
  explicit RangeFreeze(std::uint64_t step) : step_(step) {}
  void on_step_begin(Trainer& trainer, std::uint64_t step) override;

 private:
  std::uint64_t step_;
};

/// Trains a quantized model in float, its ranges observed, until step `step`.
class QuantizationDelay : public Callback {
 public:
  explicit QuantizationDelay(std::uint64_t step) : step_(step) {}
  void on_step_begin(Trainer& trainer, std::uint64_t step) override;

 private:
  std::uint64_t step_;
};

}  // namespace octet
