#pragma once

#include <octet/core/archive.h>
#include <octet/train/data/dataset.h>
#include <octet/train/history.h>
#include <octet/train/run/run_folders.h>
#include <octet/train/trainer.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace octet {

/// What errors of a TrainingRun call its options, e.g. "--out" in a program with a command line.
struct RunOptionNames {
  std::string folder = "folder";
  std::string checkpoint_folder = "checkpoint_folder";
  std::string resume = "resume";
};

struct TrainingRunOptions {
  /// Where history.csv, metrics.json and what the program exports go.
  std::filesystem::path folder;
  /// Where last.ckpt goes; empty: "checkpoints" in `folder`.
  std::filesystem::path checkpoint_folder{};
  /// The names of the phases, in the order in which they are trained: letters, digits and "-".
  std::vector<std::string> phases = {"float", "qat"};
  /// What decides the result, by name: a run may be resumed with the same options alone. What the
  /// data set is need not be among them.
  std::map<std::string, std::string> options{};
  /// The files that the program may write to `folder` beside those of the run, by name: a run that
  /// starts anew leaves none of another model there, see begin().
  std::vector<std::string> outputs{};
  /// Files that the program reads: they stay where they are, outputs of a run before or not.
  std::vector<std::filesystem::path> inputs{};
  /// Goes on from the last checkpoint instead of starting anew.
  bool resume = false;
  /// The group of the trainers (TrainerOptions::group). All ranks make the same run; rank 0 alone
  /// makes folders, reads and writes files. Null: this process alone.
  ProcessGroup* group = nullptr;
  RunOptionNames names{};
};

/// SHA-256 digests of what a run ends with. The same options, data and seed give the same digests.
struct RunHashes {
  /// Digest of the exported file.
  std::string model;
  /// Digest of last.ckpt with its times set to 0; "" where the run has saved none.
  std::string checkpoint;
  /// Digest of history.csv without its columns of times.
  std::string history;
};

struct RunReport {
  RunHashes hashes;
  /// Since the run was made.
  double seconds = 0.0;
  /// metrics.json in one line.
  std::string metrics;
};

/// A training run that can be stopped and resumed, with an end that is the same to the byte: its
/// folders, its checkpoint, the phases it consists of, and the report at its end.
///
///     TrainingRun run({.folder = "run", .phases = {"float", "qat"}, .resume = resume});
///     run.begin(data);
///     if (run.needs("float")) {
///       Trainer trainer(model, Adam(), {.should_stop = [&] { return signals.requested(); }});
///       if (!run.fit("float", trainer, /*epochs=*/5)) return 1;  // saved; resume to go on
///     }
///
/// See examples/training_run.cpp for a whole program. Nothing is printed, and no signal is handled
/// unless the program does so (StopSignals). What a user gives is checked by name before anything
/// is trained.
class TrainingRun {
 public:
  /// Throws InvalidArgument for options that make no sense and where there is nothing to resume.
  explicit TrainingRun(TrainingRunOptions options);

  /// Takes the data to train and to score on, which must outlive the run: epochs are scored on the
  /// validation set, where there is one. Makes and locks the
  /// folders, which are removed with this object where nothing was written to them. A run that is
  /// resumed reads its checkpoint here. One that starts anew must not destroy the checkpoint of a
  /// run that was stopped: where metrics.json does not tell that the run of last.ckpt came to its
  /// end, that checkpoint and the one before it are renamed to stopped.ckpt and stopped.ckpt.1,
  /// which replaces those of a run that was stopped earlier, and its outputs go to the folder
  /// "stopped_run" inside `folder`. What a run that has ended left (its outputs and reports) goes
  /// to "previous_run". Throws
  /// InvalidArgument where the checkpoint was made with other options, other data (name, sizes,
  /// shape or contents) or other phases; FormatError or IoError where it cannot be read, and
  /// IoError as RunFolders.
  void begin(const DataSplit& data);
  void begin(const DataSplit&& data) = delete;

  /// The checkpoint that this run goes on from: last.ckpt, or the one before it.
  const std::optional<std::filesystem::path>& resumed_from() const { return resumed_from_; }
  /// Where begin() has kept the checkpoint of a run that was stopped.
  const std::optional<std::filesystem::path>& kept_checkpoint() const { return kept_checkpoint_; }
  /// What begin() has found in the folders, for the user: which checkpoint the run goes on from,
  /// and where what an earlier run left is now; a line for each, empty where there was nothing.
  std::string begin_text() const;
  /// The folder to which begin() has moved the outputs of the run before; empty where there were
  /// none.
  const std::filesystem::path& outputs_set_aside() const { return outputs_set_aside_; }

  /// Whether a phase is still to be trained. False where the run that is resumed has finished it:
  /// its models need not be trained, for the checkpoint holds what the next phase made of them; its
  /// history and what it kept are there. Throws InvalidArgument for an unknown phase.
  bool needs(const std::string& phase) const;

  /// Trains the next phase until `epochs` epochs of it are done; after each it saves a checkpoint
  /// and replaces history.csv, which a run that is killed then leaves.
  /// False where the trainer was stopped (TrainerOptions::should_stop): a checkpoint of that step
  /// is then saved, and this object is done. Throws InvalidArgument for any phase but the next one,
  /// and as Trainer::fit() and Trainer::restore().
  [[nodiscard]] bool fit(const std::string& phase, Trainer& trainer, int epochs);

  /// Keeps a number that the phase just trained came to; a run resumed in a later phase has it
  /// again. Throws InvalidArgument where no phase was trained, for a number that is not finite, and
  /// for a name that is taken.
  void keep(const std::string& name, double value);
  /// A number that was kept. Throws InvalidArgument where there is none.
  double kept(const std::string& phase, const std::string& name) const;

  /// The epochs of all phases that are finished, each with the name of its phase.
  History history() const;

  /// Ends the run: writes history.csv, as it stands after the last epoch, and metrics.json, which
  /// marks last.ckpt as that of a finished run. `model` is the file that the run has exported.
  /// `metrics`, a JSON object, is what the program adds to metrics.json; the run's part is data,
  /// epochs, files, isa, s_per_epoch, seconds, sha256 and threads. Throws InvalidArgument before
  /// all phases are trained and where `metrics` is no object or holds one of these names; IoError.
  /// Ranks other than 0 do nothing and return an empty report.
  RunReport finish(const std::filesystem::path& model, const std::string& metrics = "{}");

  const std::filesystem::path& folder() const { return options_.folder; }
  std::filesystem::path checkpoint() const { return options_.checkpoint_folder / "last.ckpt"; }

 private:
  using Notes = std::map<std::string, std::string>;

  /// What a finished phase came to.
  struct Phase {
    History history;
    std::map<std::string, double> kept;
  };

  ProcessGroup& group() const { return group_or_alone(options_.group); }
  void check_options() const;
  void check_checkpoint_is_there() const;
  void open_folders();
  void require_same_ranks() const;
  const DataSplit& data() const;
  std::size_t index_of(const std::string& phase) const;
  /// The note of a checkpoint that holds the history of a finished phase.
  static std::string history_note(const std::string& phase) { return phase + "_history"; }
  std::string data_in_words() const;
  void check_data_hash(const Notes& notes) const;
  Notes notes(const std::string& phase) const;
  void read_checkpoint();
  Phase finished_phase(const std::string& phase, const Notes& notes) const;
  void keep_stopped_run();
  /// The epochs of all finished phases and those of one that is not.
  History history_with(const std::string& phase, const History& epochs) const;
  void write_history(const History& history) const;
  bool came_to_its_end() const;
  std::vector<std::string> files_written(const std::filesystem::path& model) const;
  std::string checkpoint_hash() const;

  TrainingRunOptions options_;
  /// On the clock of detail::clock_seconds().
  double begin_;
  std::optional<RunFolders> folders_;
  const DataSplit* data_ = nullptr;
  /// The fingerprints of the training, the test and the validation set.
  std::string data_hash_;
  std::optional<Archive> checkpoint_;
  std::optional<std::filesystem::path> resumed_from_;
  std::optional<std::filesystem::path> kept_checkpoint_;
  std::filesystem::path outputs_set_aside_;
  /// Whether last.ckpt is of this run.
  bool has_checkpoint_ = false;
  std::vector<Phase> finished_;
  bool stopped_ = false;
};

}  // namespace octet
