#pragma once

#include <octet/layers/model.h>
#include <octet/train/history.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace octet {

class Trainer;

/// Where a run stands after a step.
struct Progress {
  std::string phase;
  int epoch = 0;  ///< from 1
  int epochs = 0;
  std::size_t batch = 0;  ///< batches done in this epoch
  std::size_t batches = 0;
  std::uint64_t step = 0;  ///< steps done over all epochs
  /// Means over the epoch so far.
  double loss = 0.0;
  /// None where targets are tensors.
  std::optional<double> accuracy{};
  /// Seconds of training alone, without evaluation, and examples, in this epoch.
  double seconds = 0.0;
  double images = 0.0;
};

/// What happens beside training. Every method may be left out.
///
/// on_step_begin, on_step_end, TrainerOptions::should_stop and augment, the loss and the layers'
/// own code run inside an OpenMP region, which spans the epoch. There, Octet's parallel_for() runs
/// on all threads, but an OpenMP region of the program's own is nested: OpenMP runs it on one
/// thread, unless omp_set_max_active_levels(2) was called. The other methods run outside of any
/// region.
class Callback {
 public:
  virtual ~Callback() = default;

  /// Before the first step of a fit(). `history` holds what earlier fits, or the run that this one
  /// resumes, have recorded.
  virtual void on_fit_begin(Trainer& /*trainer*/, const History& /*history*/) {}
  /// A quantized model has got its ranges from calibration and has been evaluated, before any step.
  virtual void on_calibrated(Trainer& /*trainer*/, const EpochRecord& /*start*/) {}
  /// What it needs beside `history` where a run goes on from a checkpoint, which holds it. Empty
  /// always or never.
  virtual std::vector<NamedTensor> state() const { return {}; }
  /// Takes back what state() had returned when the checkpoint was saved, by the callback that had
  /// the same place among those with state; empty where there was none.
  virtual void set_state(const std::vector<NamedTensor>& /*state*/) {}

  /// Before step `step`, counted from 0.
  virtual void on_step_begin(Trainer& /*trainer*/, std::uint64_t /*step*/) {}
  virtual void on_step_end(Trainer& /*trainer*/, const Progress& /*progress*/) {}
  virtual void on_epoch_end(Trainer& /*trainer*/, const EpochRecord& /*record*/) {}
  /// Asked before every epoch; true ends the fit.
  virtual bool wants_stop() const { return false; }
  /// After the last epoch of a fit(), unless TrainerOptions::should_stop ended it, which is to be
  /// resumed.
  virtual void on_fit_end(Trainer& /*trainer*/) {}

  /// Whether it shows what each epoch came to. Where none does, the log has a line of it.
  virtual bool shows_epochs() const { return false; }
  /// Whether it goes by the loss on the test set: see TrainerOptions::test_loss.
  virtual bool needs_test_loss() const { return false; }
};

/// A callback made of functions, each of which may be left out:
///
///     trainer.add_callback({.on_epoch_end = [](Trainer&, const EpochRecord& record) { ... }});
struct CallbackFunctions {
  std::function<void(Trainer&, const History&)> on_fit_begin{};
  std::function<void(Trainer&, const EpochRecord&)> on_calibrated{};
  std::function<void(Trainer&, std::uint64_t step)> on_step_begin{};
  std::function<void(Trainer&, const Progress&)> on_step_end{};
  std::function<void(Trainer&, const EpochRecord&)> on_epoch_end{};
  std::function<bool()> wants_stop{};
  std::function<void(Trainer&)> on_fit_end{};
};
std::shared_ptr<Callback> make_callback(CallbackFunctions functions);

}  // namespace octet
