#include <fmt/core.h>
#include <octet/core/clock.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/json_text.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/parallel.h>
#include <octet/train/checkpoint.h>
#include <octet/train/run/sha256.h>
#include <octet/train/run/training_run.h>

#include <algorithm>
#include <nlohmann/json.hpp>

// What a run leaves at its end: its digests, history.csv and metrics.json.

namespace octet {
namespace {

using nlohmann::json;

std::string text_of(const json& value, int indent) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace) + "\n";
}

/// The caller's object, without what the run adds to it.
json callers_metrics(const std::string& text, const json& of_the_run) {
  json metrics;
  try {
    metrics = *detail::ParsedJson(text);
  } catch (const json::exception& error) {
    throw InvalidArgument(
        fmt::format("TrainingRun::finish: metrics are no JSON: {}", detail::fault_text(error)));
  }
  if (!metrics.is_object()) {
    throw InvalidArgument(
        fmt::format("TrainingRun::finish: expected a JSON object as metrics, found {}", text));
  }
  for (const auto& entry : of_the_run.items()) {
    if (!metrics.contains(entry.key())) continue;
    throw InvalidArgument(fmt::format(
        "TrainingRun::finish: metrics hold \"{}\", which the run itself writes", entry.key()));
  }
  return metrics;
}

}  // namespace

std::string TrainingRun::checkpoint_hash() const {
  std::vector<std::string> histories;
  for (const std::string& phase : options_.phases) histories.push_back(history_note(phase));
  return sha256(without_times(Archive::read(checkpoint()), histories).to_bytes());
}

/// What the program has written to the folder, by name.
std::vector<std::string> TrainingRun::files_written(const std::filesystem::path& model) const {
  std::vector<std::string> names = options_.outputs;
  const std::string exported = model.filename().string();
  if (std::ranges::find(names, exported) == names.end()) names.push_back(exported);
  std::erase_if(names, [this](const std::string& name) {
    return !std::filesystem::is_regular_file(folder() / name);
  });
  return names;
}

void TrainingRun::write_history(const History& history) const {
  write_file_atomic(folder() / "history.csv", history_csv(history));
}

RunReport TrainingRun::finish(const std::filesystem::path& model, const std::string& metrics) {
  if (finished_.size() < options_.phases.size()) {
    throw InvalidArgument(fmt::format("TrainingRun::finish: phase \"{}\" is still to be trained",
                                      options_.phases[finished_.size()]));
  }
  const History all = history();
  RunReport report;
  if (!group().is_root()) return report;
  report.hashes.model = sha256(read_file(model));
  if (has_checkpoint_) report.hashes.checkpoint = checkpoint_hash();
  report.hashes.history = sha256(history_csv(all, false));
  report.seconds = detail::clock_seconds() - begin_;
  const DataSplit& split = data();
  json sizes = {
      {"name", split.train.name()}, {"train", split.train.size()}, {"test", split.test.size()}};
  if (!split.validation.empty()) sizes["validation"] = split.validation.size();
  const json of_the_run = {{"data", sizes},
                           {"epochs", json::parse(history_json(all))},
                           {"files", files_written(model)},
                           {"isa", to_string(kernels().isa)},
                           {"s_per_epoch", seconds_per_epoch(all)},
                           {"seconds", report.seconds},
                           {"sha256",
                            {{"model", report.hashes.model},
                             {"checkpoint", report.hashes.checkpoint},
                             {"history", report.hashes.history}}},
                           {"threads", num_threads()}};
  json whole = callers_metrics(metrics, of_the_run);
  whole.update(of_the_run);
  report.metrics = text_of(whole, -1);
  write_history(all);
  write_file_atomic(folder() / "metrics.json", text_of(whole, 2));
  return report;
}

}  // namespace octet
