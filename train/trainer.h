#pragma once

#include <octet/core/function_ref.h>
#include <octet/layers/lower.h>
#include <octet/layers/model.h>
#include <octet/train/callback.h>
#include <octet/train/data/data_loader.h>
#include <octet/train/data/dataset.h>
#include <octet/train/distributed/gradient_format.h>
#include <octet/train/distributed/process_group.h>
#include <octet/train/evaluate.h>
#include <octet/train/history.h>
#include <octet/train/loss.h>
#include <octet/train/metric.h>
#include <octet/train/optimizer.h>
#include <octet/train/output_losses.h>
#include <octet/train/schedule.h>

#include <concepts>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace octet {

class GradientAngles;
class Profile;
struct CSource;
struct CSourceOptions;
struct OnnxOptions;

namespace detail {
struct ExampleSums;
class ShardedStep;
}  // namespace detail

struct TrainerOptions {
  /// The loss of a model of one output.
  Loss loss = sparse_categorical_cross_entropy();
  /// The loss of each output of a model of several, in any order; `loss` and `metrics` are then not
  /// used. Training minimizes sum_k weight_k loss_k, which is the train_loss of a record and
  /// its metric "test_loss". Further metrics of a record are, for each output with the name NAME,
  /// NAME_loss, NAME_accuracy if its targets are labels, for a quantized model that can be
  /// lowered NAME_integer_accuracy too, and NAME_METRIC for those of `metrics`. Empty: the model
  /// has one output.
  std::vector<OutputLoss> losses{};
  /// Metrics that are measured on the test set after each epoch, beside accuracy: see measure().
  std::vector<Metric> metrics{};
  /// Measures the loss on the test set too, as the metric "test_loss". Where targets are tensors,
  /// which have no accuracy, it is always measured.
  bool test_loss = false;
  /// What lines about epochs call the set that they are scored on.
  std::string scored_on = "test";
  std::size_t batch_size = 128;
  /// Batches whose gradients are averaged, weighted by rows, before each step: a large batch in the
  /// memory of a small one. The last step of an epoch takes the batches that are left.
  std::size_t accumulate_batches = 1;
  /// Seed of order, dropout, augmentation and rounding. Model::build() has a seed of its own.
  std::uint64_t seed = 0;
  bool shuffle = true;
  /// The number of shards of consecutive examples that every batch is cut into, at most batch_size:
  /// each is a small batch of its own, and their gradients are added along a binary tree whose
  /// shape depends on this number alone. The result depends on it, as on batch_size; it does not
  /// depend on which rank of `group` computes which shard. See docs/distributed.md. 0:
  /// default_shards().
  std::size_t shards = 0;
  /// How gradients of shards are added and sent. The result depends on it. With int8 a checkpoint
  /// also holds the rounding errors: `shards` times the size of the parameters.
  GradientFormat gradients = GradientFormat::float32;
  /// How quantized layers compute their gradients. The result depends on it. Layers that
  /// layers_with_float_gradients() names compute in floats.
  Backward backward = Backward::float32;
  /// Collects the angles between gradients on int8 and in floats, unless null: in 12 steps that are
  /// spread evenly up to the epoch that fit() or fit_until() trains to, for the first shard of
  /// their first batch. The result does not depend on it.
  GradientAngles* angles = nullptr;
  /// The processes that divide the shards and the test set among them. All make the same trainer
  /// and call the same functions with the same data; the group must outlive the trainer. Null: this
  /// process alone.
  ProcessGroup* group = nullptr;
  /// The largest norm of all gradients together, to which larger ones are scaled down; 0: no limit.
  /// Not given: 1 for a model with recurrent layers, whose gradients can grow from step to step of
  /// time (Pascanu et al., ICML 2013), and no limit for others.
  std::optional<double> clip_norm{};
  /// Changes each training batch, e.g. augment_images(). Runs inside the parallel region: see
  /// Callback.
  Augment augment{};
  /// LoaderOptions::augments_signals.
  bool augments_signals = false;
  /// Learning-rate multiplier for learned quantizer parameters, see learned_scales(). Parameters
  /// in a group of the optimizer have the group's rate instead.
  float learned_scale_rate = 0.1F;
  /// Batches that a quantized model without ranges is calibrated on before its first step.
  std::size_t calibration_batches = 10;
  /// Epochs of the run after which freeze_batch_norm() freezes the statistics of a model that
  /// quantize_model() made with BatchNormMode::statistics. Not given: frozen for the last third of
  /// the steps up to the epoch that fit() or fit_until() trains to.
  std::optional<int> freeze_batch_norm_after{};
  /// Collects the time of every step, by phase and layer, unless null.
  Profile* profile = nullptr;
  /// What exported models carry as metadata beside their own.
  std::map<std::string, std::string> metadata{};
  /// Called after every step, inside the parallel region (see Callback); true ends fit() there, to
  /// be resumed later. With several ranks all must have it; rank 0's answer counts.
  std::function<bool()> should_stop{};
};

/// The default number of shards of a batch: 1 for one rank; for several ranks 8, or their number if
/// that is larger, so that 2 to 8 ranks give the same bytes.
std::size_t default_shards(int ranks);

/// Trains a model, float or quantized, on examples with class labels or tensors as targets.
class Trainer {
 public:
  /// Keeps a reference to `model`, which must outlive the trainer and is built with options.seed
  /// where it has no tensors yet. Throws InvalidArgument for options that make no sense, losses for
  /// other outputs than those of the model among them, and as require_output_for().
  template <std::derived_from<Optimizer> O>
  Trainer(Model& model, const O& optimizer, TrainerOptions options = {})
      : Trainer(model, optimizer.clone(), std::move(options)) {}
  Trainer(Model& model, std::unique_ptr<Optimizer> optimizer, TrainerOptions options = {});

  void add_callback(std::shared_ptr<Callback> callback);
  void add_callback(CallbackFunctions functions);

  /// Trains for `epochs` epochs. An epoch in which an earlier call was stopped is finished first
  /// and counts as one of them. After each epoch the model is evaluated on the test set; a
  /// quantized model is also lowered and evaluated by the integer engine, unless lower() refuses
  /// it, which the log explains. Results are shown by a callback (ProgressBar), or else by the log,
  /// at level info. Returns the records of all epochs so far. Throws NumericError with epoch, step
  /// and the first layer at fault where the loss is NaN or infinite; InvalidArgument for a negative
  /// number of epochs, an empty set, examples that the model does not take, and a loss that returns
  /// no scalar.
  const History& fit(const Dataset& train, const Dataset& test, int epochs);
  /// Trains without a test set.
  const History& fit(const Dataset& train, int epochs);

  /// Trains until `epochs` epochs are done in all, those of earlier calls and of a loaded
  /// checkpoint counted: for runs that are resumed. Otherwise as fit().
  const History& fit_until(const Dataset& train, const Dataset& test, int epochs);
  const History& fit_until(const Dataset& train, int epochs);

  /// Evaluates a model of one output as octet::evaluate() does, divided among the ranks of the
  /// group.
  Evaluation evaluate(const Dataset& data) const {
    return octet::evaluate(*model_, data, options_.group);
  }
  Labels predict(const Tensor& features) const { return octet::predict(*model_, features); }

  /// Lowers the model, its kernel ranges taken anew, and writes a .tflite file: on rank 0, as the
  /// functions below; other ranks do nothing.
  void export_int8(const std::filesystem::path& path, const LowerOptions& options = {}) const;
  /// Writes the integers as C source, `stem`.h and `stem`.c: see write_c_source() in
  /// deploy/c/writer.h.
  CSource export_c_source(const std::filesystem::path& stem) const;
  CSource export_c_source(const std::filesystem::path& stem, const CSourceOptions& options) const;
  /// Writes the integers as an ONNX file: see write_onnx() in deploy/onnx/writer.h.
  void export_onnx(const std::filesystem::path& path) const;
  void export_onnx(const std::filesystem::path& path, const OnnxOptions& options) const;
  IntegerModel lower(const LowerOptions& options = {}) const;

  const Model& model() const { return *model_; }
  Model& model() { return *model_; }
  const History& history() const { return history_; }
  /// Evaluation of a quantized model after calibration and before its first step, with the ranges
  /// that training starts from. None without a test set or if the model already had ranges.
  const std::optional<EpochRecord>& calibrated() const { return calibrated_; }
  const TrainerOptions& options() const { return options_; }
  std::uint64_t steps() const { return step_; }
  /// Bytes that this rank has sent and received in training steps, without evaluation and
  /// everything else.
  const ProcessGroup::Traffic& step_traffic() const { return step_traffic_; }
  /// Whether this process is the one that prints and writes files: rank 0 of its group.
  bool is_root() const { return group_or_alone(options_.group).is_root(); }
  /// The warnings that the last fit() logged.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// Whether the last fit() ended by options.should_stop.
  bool stopped() const { return stopped_; }

  /// Everything that a run needs to go on as if it had never stopped: parameters, state, optimizer,
  /// position in the data, running means, history; and `notes` for the caller; with the model's
  /// architecture where that can be described (load_model()). Replaces the file as a whole or not
  /// at all (IoError); what it held before stays as previous_file(path). All ranks call it, since
  /// each may hold a part of it, and rank 0 writes.
  void save_checkpoint(const std::filesystem::path& path,
                       const std::map<std::string, std::string>& notes = {}) const;
  /// As read_checkpoint(): from the one before it where the newest is damaged. Throws IoError, or
  /// FormatError where the file is broken or belongs to another model; the trainer is then as
  /// before. Returns the notes. Rank 0 reads, for all ranks of the group, which all call it.
  std::map<std::string, std::string> load_checkpoint(const std::filesystem::path& path);
  std::map<std::string, std::string> restore(const Archive& checkpoint);
  /// The notes alone. Throws FormatError for an archive that is no checkpoint.
  static std::map<std::string, std::string> notes_of(const Archive& checkpoint);

 private:
  /// Sums over the part of the current epoch that is done.
  struct EpochSums {
    double loss = 0.0;
    double right = 0.0;
    double images = 0.0;
    double seconds = 0.0;
  };

  /// Throws InvalidArgument where the trainer was moved from.
  Optimizer& optimizer() const;
  /// In the order in which they were added, the same on all ranks.
  std::vector<std::shared_ptr<Callback>> callbacks_with_state() const;
  /// Until epoch `last`; `test` may be null.
  const History& train_until(const Dataset& train, const Dataset* test, Index last);
  LoaderOptions loader_options() const;
  void prepare(const Dataset& train, const Dataset* test);
  /// Throws InvalidArgument where the ranks of the group train on something else.
  void require_same_ranks(const Dataset& train, const Dataset* test) const;
  bool asked_to_stop() const;
  /// False where options.should_stop ended it early.
  bool run_epoch(DataLoader& loader, Index last);
  /// Whether the statistics of batch normalization are to be kept in the step that comes next.
  bool freezes_batch_norm(const DataLoader& loader, Index last) const;
  /// What collects the angles of gradients in the step that comes next; null where nothing does.
  GradientAngles* angles_of_step(const DataLoader& loader, Index last) const;
  /// Steps in so many batches.
  std::uint64_t steps_of(Index batches) const;
  /// Steps in `epochs` epochs.
  std::uint64_t steps_of_epochs(const DataLoader& loader, Index epochs) const;
  /// Trains on a batch, which is here by its shards, and on the further batches of its step, which
  /// it puts there. `sharded` is null where each is one shard, `angles` where none are measured.
  void run_step(DataLoader& loader, std::vector<Batch>& shards, detail::ShardedStep* sharded,
                GradientAngles* angles);
  /// Adds the gradients of examples in a step on `rows` to those of the parameters.
  /// Calls `ready` with each parameter whose gradient is complete.
  detail::ExampleSums add_gradients(const Batch& batch, std::size_t rows, const Random& random,
                                    GradientAngles* angles,
                                    FunctionRef<void(const Tensor& parameter)> ready);
  void add(const detail::ExampleSums& sums, std::size_t examples);
  void finish_epoch(const Dataset* test);
  void score(EpochRecord& record, const Dataset& test);
  std::optional<IntegerModel> exportable();
  /// Puts a line of an epoch into the log, on rank 0, where no callback shows it.
  void tell(const std::string& line) const;
  std::vector<Metric> metrics_for(const Dataset& test) const;
  /// The metrics of several outputs, and what they say of the whole.
  void score_outputs(EpochRecord& record, const Dataset& test);
  /// The loss of the outputs: of several, the weighted sum.
  Tensor loss_of(const std::vector<Tensor>& outputs, const Batch& batch) const;
  Tensor loss_of_output(std::size_t output, const Tensor& value, const Targets& targets,
                        std::span<const float> weights) const;
  /// The share of the examples so far that were classed right; none where they have no classes.
  std::optional<double> accuracy_so_far() const;
  void check_loss(const Tensor& loss, std::span<const Tensor> inputs) const;
  /// What a checkpoint holds of gradient_errors_, of all shards, on rank 0; all ranks call it.
  std::vector<NamedTensor> errors_of_all_shards() const;
  /// The gradient errors of this rank in a checkpoint; empty where it holds none. Throws
  /// FormatError where the size is another.
  detail::GradientErrors own_errors(const Archive& checkpoint) const;
  Progress progress(const DataLoader& loader, Index last) const;
  std::string place() const;
  /// Says to the group where this rank is.
  void tell_place() const;

  Model* model_;
  std::unique_ptr<Optimizer> optimizer_;
  TrainerOptions options_;
  /// By output of the model; options_.loss and options_.metrics where there is one.
  std::vector<OutputLoss> losses_;
  std::vector<std::shared_ptr<Callback>> callbacks_;
  std::string phase_;
  LoaderPosition position_;
  std::uint64_t step_ = 0;
  ProcessGroup::Traffic step_traffic_;
  EpochSums sums_;
  /// Whether the training set has labels, and what an Augment made of them names a class too.
  bool has_classes_ = false;
  History history_;
  std::optional<EpochRecord> calibrated_;
  /// By shard of this rank; empty where gradients are floats or nothing was trained yet.
  detail::GradientErrors gradient_errors_;
  std::vector<std::string> warnings_;
  bool stopped_ = false;
  /// Why the model cannot be exported, as the log was told; empty where it can.
  std::string refusal_;
};

}  // namespace octet
