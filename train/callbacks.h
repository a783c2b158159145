#pragma once

#include <octet/core/archive.h>
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

/// What a callback goes by, higher is better: e.g. minus one of the metrics.
using Score = std::function<double(const EpochRecord& record)>;

/// Scores by accuracy: of the integers where there is one, else on the test set; without either, as
/// loss_score() does.
double score_of(const EpochRecord& record);

/// Scores by loss: minus the "test_loss", without a test set minus the training loss.
double loss_score(const EpochRecord& record);

namespace detail {

/// The best score so far, and how many epochs in a row have not been better.
struct BestScore {
  double score = -std::numeric_limits<double>::infinity();
  int waited = 0;

  /// Whether the epoch is better by more than `min_delta`, by `of`, or by loss_score() without.
  bool take(const EpochRecord& record, const Score& of, double min_delta);
};

}  // namespace detail

struct EarlyStoppingOptions {
  /// How much a score has to exceed the best one so far to count as better, as in Keras.
  double min_delta = 0.0;
  /// What is watched: score_of for accuracy. Not given: loss_score, and the Trainer measures the
  /// loss on the test set, see TrainerOptions::test_loss.
  Score score{};
  /// Whether the model has the weights, and a quantized model the ranges, of the best epoch when
  /// fit() ends. Checkpoints hold the model of their own epoch and the best weights so far, for a
  /// run that is resumed. Add this callback before one that saves checkpoints: otherwise they lack
  /// the weights of the last epoch, and the log warns if these were the best.
  bool restore_best_weights = false;
};

/// Ends fit() after `patience` epochs in a row without a better score, and says so in the log.
class EarlyStopping : public Callback {
 public:
  /// Throws InvalidArgument for a patience below 1.
  explicit EarlyStopping(int patience, EarlyStoppingOptions options = {});
  void on_fit_begin(Trainer& trainer, const History& history) override;
  void on_epoch_end(Trainer& trainer, const EpochRecord& record) override;
  void on_fit_end(Trainer& trainer) override;
  std::vector<NamedTensor> state() const override;
  void set_state(const std::vector<NamedTensor>& state) override;
  bool wants_stop() const override { return best_.waited >= patience_; }
  bool needs_test_loss() const override { return !options_.score; }

 private:
  void take(const EpochRecord& record);
  void restore(Trainer& trainer) const;

  int patience_;
  EarlyStoppingOptions options_;
  detail::BestScore best_;
  int best_epoch_ = 0;
  /// What the model held after an epoch, 0: none.
  int kept_epoch_ = 0;
  Archive kept_;
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
