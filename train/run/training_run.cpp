#include <fmt/format.h>
#include <octet/core/clock.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/json_text.h>
#include <octet/core/parse_number.h>
#include <octet/train/callbacks.h>
#include <octet/train/checkpoint.h>
#include <octet/train/data/fingerprint.h>
#include <octet/train/distributed/messages.h>
#include <octet/train/run/run_outputs.h>
#include <octet/train/run/training_run.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

// Notes of a run's checkpoints, by name: its options, their names in "options", "data",
// "data-hash", the names of all phases in "phases", "phase", and of each finished phase
// PHASE_history and PHASE_NAME for every number that was kept.

namespace octet {
namespace {

constexpr const char* kData = "data";
/// Not "data_hash", which would be what a phase "data" has kept.
constexpr const char* kDataHash = "data-hash";
constexpr const char* kOptions = "options";
constexpr const char* kPhase = "phase";
constexpr const char* kPhases = "phases";

/// Phases and numbers become parts of the names of notes, and of lines of CSV.
bool is_plain(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

std::string note_name(const std::string& phase, const std::string& name) {
  return phase + "_" + name;
}

double number_in(const std::string& note, const std::string& text) {
  double value = 0.0;
  if (parse_number(text, value) == std::errc() && std::isfinite(value)) return value;
  throw FormatError(fmt::format("{}: expected a number, found \"{}\"", note, text));
}

/// A line per name.
std::string names_of(const std::map<std::string, std::string>& options) {
  std::string names;
  for (const auto& [name, value] : options) names += name + "\n";
  return names;
}

/// Saves the run until its phase ends: a trainer keeps its callbacks.
class PhaseCheckpoint : public LastCheckpoint {
 public:
  /// `saved` is called behind each checkpoint, with the epochs of the phase so far.
  PhaseCheckpoint(std::filesystem::path path, std::map<std::string, std::string> notes,
                  std::function<void(const History& history)> saved)
      : LastCheckpoint(std::move(path), std::move(notes)), then_(std::move(saved)) {}
  void on_epoch_end(Trainer& trainer, const EpochRecord& record) override {
    if (ended_) return;
    LastCheckpoint::on_epoch_end(trainer, record);
    saved_ = true;
    then_(trainer.history());
  }
  bool saved() const { return saved_; }

  /// Ends the saving, however a phase ends.
  class End {
   public:
    explicit End(PhaseCheckpoint& of) : of_(of) {}
    ~End() { of_.ended_ = true; }
    End(const End&) = delete;
    End& operator=(const End&) = delete;

   private:
    PhaseCheckpoint& of_;
  };

 private:
  std::function<void(const History& history)> then_;
  bool ended_ = false;
  bool saved_ = false;
};

}  // namespace

TrainingRun::TrainingRun(TrainingRunOptions options)
    : options_(std::move(options)), begin_(detail::clock_seconds()) {
  if (options_.checkpoint_folder.empty() && !options_.folder.empty()) {
    options_.checkpoint_folder = options_.folder / "checkpoints";
  }
  check_options();
  if (group().is_root() && options_.resume) check_checkpoint_is_there();
}

void TrainingRun::check_options() const {
  if (options_.folder.empty()) {
    throw InvalidArgument(
        fmt::format("TrainingRun: expected a {}, found an empty name", options_.names.folder));
  }
  if (options_.phases.empty()) {
    throw InvalidArgument("TrainingRun: expected at least one phase, found none");
  }
  for (auto phase = options_.phases.begin(); phase != options_.phases.end(); ++phase) {
    if (!is_plain(*phase)) {
      throw InvalidArgument(fmt::format(
          "TrainingRun: expected letters, digits and \"-\" as the name of a phase, found \"{}\"",
          *phase));
    }
    if (std::find(options_.phases.begin(), phase, *phase) != phase) {
      throw InvalidArgument(fmt::format("TrainingRun: two phases are named \"{}\"", *phase));
    }
    if (options_.options.contains(history_note(*phase))) {
      throw InvalidArgument(fmt::format(
          "TrainingRun: the option \"{}\" has the name under which the history of a phase is saved",
          history_note(*phase)));
    }
  }
  for (const char* reserved : {kData, kDataHash, kOptions, kPhase, kPhases}) {
    if (!options_.options.contains(reserved)) continue;
    throw InvalidArgument(fmt::format(
        "TrainingRun: the option \"{}\" has a name that the run itself uses", reserved));
  }
}

void TrainingRun::begin(const DataSplit& data) {
  if (data_ != nullptr) throw InvalidArgument("TrainingRun: begin() was called before");
  data_ = &data;
  try {
    data_hash_ = fmt::format("{} {}", fingerprint(data.train), fingerprint(data.test));
    if (!data.validation.empty()) data_hash_ += " " + fingerprint(data.validation);
    // What no checkpoint can hold is better known before anything is trained.
    detail::json_text(notes(options_.phases.front()), "TrainingRun: options and names of data");
    require_same_ranks();
    // Not before: a rank that is refused ends all of them, without cleaning up.
    if (group().is_root()) open_folders();
    if (options_.resume) {
      read_checkpoint();
      // A run that was started over it and killed before its first checkpoint had moved them.
      if (group().is_root() && came_to_its_end()) bring_back_outputs(folder());
    } else if (group().is_root()) {
      keep_stopped_run();
      std::vector<std::string> outputs = options_.outputs;
      outputs.emplace_back("history.csv");
      outputs_set_aside_ = set_aside_outputs(folder(), outputs, options_.inputs);
    }
  } catch (...) {
    // A run that has not begun must not train over the checkpoint that it could not go on from.
    data_ = nullptr;
    finished_.clear();
    folders_.reset();
    throw;
  }
}

void TrainingRun::require_same_ranks() const {
  Facts facts = options_.options;
  facts["resume"] = options_.resume ? "yes" : "no";
  facts["phases"] = fmt::format("{}", fmt::join(options_.phases, ", "));
  facts["data"] = fmt::format("{}, {}", data_in_words(), data_hash_);
  facts["program"] = program_digest();
  require_same(group(), facts);
}

const DataSplit& TrainingRun::data() const {
  if (data_ != nullptr) return *data_;
  throw InvalidArgument("TrainingRun: expected begin() with the data first; it was not called");
}

std::size_t TrainingRun::index_of(const std::string& phase) const {
  const auto found = std::ranges::find(options_.phases, phase);
  if (found != options_.phases.end()) {
    return static_cast<std::size_t>(found - options_.phases.begin());
  }
  throw InvalidArgument(fmt::format("TrainingRun: expected one of the phases {}, found \"{}\"",
                                    fmt::join(options_.phases, ", "), phase));
}

std::string TrainingRun::data_in_words() const {
  const Dataset& train = data().train;
  const Dataset& validation = data().validation;
  const std::string third = validation.empty() ? "" : fmt::format(" + {}", validation.size());
  return fmt::format("{} ({} + {}{} images of {})", train.name(), train.size(), data().test.size(),
                     third, train.example_shape().to_string());
}

/// Data of the same name and shape that have changed since would make another result in silence.
void TrainingRun::check_data_hash(const Notes& notes) const {
  const auto note = notes.find(kDataHash);
  const std::string found = note == notes.end() ? "unknown" : note->second;
  if (found == data_hash_) return;
  throw InvalidArgument(fmt::format(
      "{0}: the data set is no longer the one that the checkpoint was made with: {1} has the same "
      "name and shape, but other contents (hashes {2}, now {3}); give the data of then, or start "
      "anew without {0}",
      options_.names.resume, data_in_words(), found, data_hash_));
}

void TrainingRun::read_checkpoint() {
  CheckpointFile file = octet::read_checkpoint(checkpoint(), group());
  const Notes notes = Trainer::notes_of(file.archive);
  const auto refuse = [&](const std::string& name, const std::string& found,
                          const std::string& now) {
    throw InvalidArgument(fmt::format(
        "{0}: the checkpoint was made with {1} {2}, now it is {3}; give the same options, or start "
        "anew without {0}",
        options_.names.resume, name, found, now));
  };
  const auto check = [&](const std::string& name, const std::string& value) {
    const auto found = notes.find(name);
    if (found == notes.end()) return refuse(name, "unknown", value);
    if (found->second != value) refuse(name, found->second, value);
  };
  for (const auto& [name, value] : options_.options) check(name, value);
  if (const auto names = notes.find(kOptions); names != notes.end()) {
    std::istringstream lines(names->second);
    for (std::string name; std::getline(lines, name);) {
      if (options_.options.contains(name)) continue;
      const auto value = notes.find(name);
      refuse(name, value == notes.end() ? "unknown" : value->second, "not given");
    }
  }
  check(kPhases, fmt::format("{}", fmt::join(options_.phases, ", ")));
  check(kData, data_in_words());
  check_data_hash(notes);
  const auto note = notes.find(kPhase);
  const std::string phase = note == notes.end() ? "unknown" : note->second;
  const auto at = std::ranges::find(options_.phases, phase);
  if (at == options_.phases.end()) {
    refuse(kPhase, phase, fmt::format("one of {}", fmt::join(options_.phases, ", ")));
  }
  for (auto before = options_.phases.begin(); before != at; ++before) {
    try {
      finished_.push_back(finished_phase(*before, notes));
    } catch (const FormatError& error) {
      throw FormatError(fmt::format(
          "{0}: '{1}' does not say what the training in {2} came to ({3}); start anew without {0}",
          options_.names.resume, file.path.string(), *before, error.what()));
    }
  }
  resumed_from_ = std::move(file.path);
  has_checkpoint_ = true;
  checkpoint_ = std::move(file.archive);
}

TrainingRun::Phase TrainingRun::finished_phase(const std::string& phase, const Notes& notes) const {
  const auto history = notes.find(history_note(phase));
  if (history == notes.end()) {
    throw FormatError(fmt::format("there is no {}", history_note(phase)));
  }
  Phase result{parse_history(history->second), {}};
  const std::string prefix = note_name(phase, "");
  for (auto note = notes.lower_bound(prefix); note != notes.end(); ++note) {
    if (!note->first.starts_with(prefix)) break;
    if (note == history || options_.options.contains(note->first)) continue;
    result.kept[note->first.substr(prefix.size())] = number_in(note->first, note->second);
  }
  return result;
}

bool TrainingRun::needs(const std::string& phase) const {
  static_cast<void>(data());
  return index_of(phase) >= finished_.size();
}

TrainingRun::Notes TrainingRun::notes(const std::string& phase) const {
  Notes result = options_.options;
  result[kData] = data_in_words();
  result[kDataHash] = data_hash_;
  result[kOptions] = names_of(options_.options);
  result[kPhase] = phase;
  result[kPhases] = fmt::format("{}", fmt::join(options_.phases, ", "));
  for (std::size_t i = 0; i < finished_.size(); ++i) {
    const std::string& name = options_.phases[i];
    result[history_note(name)] = history_json(finished_[i].history);
    for (const auto& [key, value] : finished_[i].kept) {
      result[note_name(name, key)] = fmt::format("{}", value);
    }
  }
  return result;
}

bool TrainingRun::fit(const std::string& phase, Trainer& trainer, int epochs) {
  const DataSplit& split = data();
  if (stopped_) {
    throw InvalidArgument(fmt::format(
        "TrainingRun: phase \"{}\" was to be trained after the run was stopped; resume it with "
        "another TrainingRun",
        phase));
  }
  if (const std::size_t index = index_of(phase); index != finished_.size()) {
    throw InvalidArgument(
        index < finished_.size()
            ? fmt::format("TrainingRun: phase \"{}\" is finished; ask needs() before", phase)
            : fmt::format("TrainingRun: phase \"{}\" comes after \"{}\", which is not finished",
                          phase, options_.phases[index - 1]));
  }
  if (trainer.steps() != 0 || !trainer.history().empty()) {
    throw InvalidArgument(fmt::format(
        "TrainingRun: expected a new trainer for phase \"{}\", found one that has trained "
        "for {} steps; each phase has a trainer of its own",
        phase, trainer.steps()));
  }
  const Notes phase_notes = notes(phase);
  const auto write_so_far = [&](const History& of_phase) {
    if (group().is_root()) write_history(history_with(phase, of_phase));
  };
  const auto saving = std::make_shared<PhaseCheckpoint>(checkpoint(), phase_notes, write_so_far);
  trainer.add_callback(saving);
  const PhaseCheckpoint::End end(*saving);
  if (checkpoint_ && Trainer::notes_of(*checkpoint_).at(kPhase) == phase) {
    trainer.restore(*checkpoint_);
    checkpoint_.reset();
  }
  const Dataset& scored = split.scored_in_training();
  Phase result{scored.empty() ? trainer.fit_until(split.train, epochs)
                              : trainer.fit_until(split.train, scored, epochs),
               {}};
  has_checkpoint_ = has_checkpoint_ || saving->saved();
  if (trainer.stopped()) {
    trainer.save_checkpoint(checkpoint(), phase_notes);
    stopped_ = true;
    return false;
  }
  for (EpochRecord& record : result.history) record.phase = phase;
  finished_.push_back(std::move(result));
  return true;
}

void TrainingRun::keep(const std::string& name, double value) {
  if (finished_.empty()) {
    throw InvalidArgument(
        fmt::format("TrainingRun: \"{}\" is to be kept before any phase was trained", name));
  }
  if (!std::isfinite(value)) {
    throw InvalidArgument(
        fmt::format("TrainingRun: expected a finite number as \"{}\", found {}", name, value));
  }
  const std::string& phase = options_.phases[finished_.size() - 1];
  const std::string note = note_name(phase, name);
  detail::json_text(note, "TrainingRun: names of numbers");
  if (name.empty() || note == history_note(phase) || options_.options.contains(note)) {
    throw InvalidArgument(
        fmt::format("TrainingRun: a number cannot be kept as \"{}\": that name is taken", note));
  }
  finished_.back().kept[name] = value;
}

double TrainingRun::kept(const std::string& phase, const std::string& name) const {
  const std::size_t index = index_of(phase);
  if (index < finished_.size()) {
    const auto found = finished_[index].kept.find(name);
    if (found != finished_[index].kept.end()) return found->second;
  }
  throw InvalidArgument(
      fmt::format("TrainingRun: phase \"{}\" has kept no number \"{}\"", phase, name));
}

History TrainingRun::history() const {
  History all;
  for (const Phase& phase : finished_) {
    all.insert(all.end(), phase.history.begin(), phase.history.end());
  }
  return all;
}

History TrainingRun::history_with(const std::string& phase, const History& epochs) const {
  History all = history();
  for (const EpochRecord& record : epochs) {
    all.push_back(record);
    all.back().phase = phase;
  }
  return all;
}

}  // namespace octet
