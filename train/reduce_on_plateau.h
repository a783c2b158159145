#pragma once

#include <octet/train/callbacks.h>
#include <octet/train/schedule.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace octet {

struct PlateauOptions {
  /// Multiplies the rate at a plateau; in (0, 1).
  float factor = 0.1F;
  /// The learning rate below which plateaus lower none, 0 or more: a schedule's own rates below it
  /// stay as they are.
  float min_rate = 1e-7F;
  /// How much a score has to exceed the best one so far to count as better.
  double min_delta = 0.0;
  /// The score that is watched. Not given: loss_score, as in EarlyStoppingOptions.
  Score score{};
  /// Takes a line about each plateau that lowers the rate, on rank 0. Not given: log_info().
  std::function<void(const std::string& line)> tell{};
};

/// Lowers the learning rate after `patience` epochs in a row without a better score, and then waits
/// as long again, down to a least rate, as ReduceLROnPlateau of Keras does with min_lr. The
/// optimizer's schedule asks it:
///
///     const auto plateau = std::make_shared<ReduceOnPlateau>(3);
///     Trainer trainer(model, Adam(plateau->over(constant_rate(1e-3F))));
///     trainer.add_callback(plateau);
///
/// The factor follows from the history alone, so that a resumed run has the same rates.
class ReduceOnPlateau : public Callback {
 public:
  /// Throws InvalidArgument for a patience below 1, a factor outside (0, 1) and a min_rate below 0.
  explicit ReduceOnPlateau(int patience, PlateauOptions options = {});

  /// `base` times factor(), but min_rate at least where `base` is more.
  Schedule over(Schedule base) const;
  /// The share of the rate that the plateaus so far have left.
  float factor() const { return *factor_; }

  void on_fit_begin(Trainer& trainer, const History& history) override;
  void on_epoch_end(Trainer& trainer, const EpochRecord& record) override;
  bool needs_test_loss() const override { return !options_.score; }

 private:
  /// Whether the rate falls.
  bool take(const EpochRecord& record);

  int patience_;
  PlateauOptions options_;
  detail::BestScore best_;
  std::shared_ptr<float> factor_ = std::make_shared<float>(1.0F);
};

/// Keeps an exponential moving average of the parameters, average = decay average + (1 - decay)
/// parameter after every step, beginning with the parameters before the first one, and gives it to
/// the model when fit() ends (B. Polyak and A. Juditsky, SIAM J. Control Optim. 1992, in the form
/// of Keras). Epochs are evaluated with the parameters themselves; the statistics of batch
/// normalization are not averaged. Checkpoints hold the averages.
class WeightAverage : public Callback {
 public:
  /// Throws InvalidArgument for a decay outside [0, 1).
  explicit WeightAverage(float decay);

  /// Throws FormatError for averages of set_state() that are not of the parameters' shapes.
  void on_fit_begin(Trainer& trainer, const History& history) override;
  void on_step_end(Trainer& trainer, const Progress& progress) override;
  void on_fit_end(Trainer& trainer) override;
  std::vector<NamedTensor> state() const override;
  void set_state(const std::vector<NamedTensor>& state) override;

 private:
  float decay_;
  std::vector<NamedTensor> averages_;
};

}  // namespace octet
