#pragma once

#include <octet/train/callback.h>
#include <octet/train/run/time_left.h>

#include <cstdio>
#include <optional>

namespace octet {

/// Shows each epoch on `out`: on a terminal a bar that is drawn over (loss, accuracy, images a
/// second, time left), elsewhere one plain line at the epoch's end, which ends in the time left.
/// Quantized models show the simulated and the integer accuracy side by side, and in how many test
/// images they disagree. The loss on the test set and TrainerOptions::metrics follow.
/// Rank 0 alone shows it where there are several. Output that fails, on a terminal that has gone or
/// a full disk, never ends the training.
class ProgressBar : public Callback {
 public:
  enum class Style { automatic, bar, lines };
  /// `later_epochs` are those of trainers behind this one: the time left is that of all epochs, as
  /// if each took as long as those of this fit, evaluation included; at most, where training may
  /// end early. Throws InvalidArgument where `out` is null and for a negative number.
  explicit ProgressBar(std::FILE* out, Style style = Style::automatic, int later_epochs = 0);

  void on_fit_begin(Trainer& trainer, const History& history) override;
  void on_calibrated(Trainer& trainer, const EpochRecord& start) override;
  void on_step_end(Trainer& trainer, const Progress& progress) override;
  void on_epoch_end(Trainer& trainer, const EpochRecord& record) override;
  bool shows_epochs() const override { return true; }

 private:
  void clear_bar();
  std::optional<double> seconds_left(double done);

  std::FILE* out_;
  bool draws_bar_;
  int later_epochs_;
  TimeLeft time_left_;
  bool bar_is_shown_ = false;
  int epochs_ = 0;
  /// On the clock of detail::clock_seconds().
  double last_drawn_ = 0;
};

}  // namespace octet
