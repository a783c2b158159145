#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/json_text.h>
#include <octet/train/history.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace octet {
namespace {

using nlohmann::json;

template <class T>
std::string cell(const std::optional<T>& value) {
  return value.has_value() ? fmt::format("{}", *value) : "";
}

std::optional<double> optional_from(const json& entry, const char* key) {
  const auto found = entry.find(key);
  return found == entry.end() ? std::nullopt : std::optional(found->get<double>());
}

json to_json(const EpochRecord& record) {
  json entry = {{"phase", record.phase},
                {"epoch", record.epoch},
                {"train_loss", record.train_loss},
                {"train_accuracy", record.train_accuracy},
                {"seconds", record.seconds},
                {"images_per_second", record.images_per_second},
                {"learning_rate", record.learning_rate}};
  if (record.test_accuracy) entry["test_accuracy"] = *record.test_accuracy;
  if (record.integer_accuracy) entry["integer_accuracy"] = *record.integer_accuracy;
  if (record.differing_predictions) {
    entry["differing_predictions"] = *record.differing_predictions;
  }
  return entry;
}

EpochRecord from_json(const json& entry) {
  EpochRecord record;
  record.phase = entry.at("phase").get<std::string>();
  record.epoch = detail::whole_number<int>(entry.at("epoch"));
  record.train_loss = entry.at("train_loss").get<double>();
  record.train_accuracy = entry.at("train_accuracy").get<double>();
  record.seconds = entry.at("seconds").get<double>();
  record.images_per_second = entry.at("images_per_second").get<double>();
  record.learning_rate = entry.at("learning_rate").get<float>();
  record.test_accuracy = optional_from(entry, "test_accuracy");
  record.integer_accuracy = optional_from(entry, "integer_accuracy");
  if (const auto differing = entry.find("differing_predictions"); differing != entry.end()) {
    record.differing_predictions = detail::whole_number<std::size_t>(*differing);
  }
  return record;
}

}  // namespace

std::string history_csv(const History& history, bool with_times) {
  std::string text =
      "phase,epoch,learning_rate,train_loss,train_accuracy,test_accuracy,integer_accuracy,"
      "differing_predictions";
  text += with_times ? ",seconds,images_per_second\n" : "\n";
  for (const EpochRecord& r : history) {
    text += fmt::format("{},{},{},{},{},{},{},{}", r.phase, r.epoch, r.learning_rate, r.train_loss,
                        r.train_accuracy, cell(r.test_accuracy), cell(r.integer_accuracy),
                        cell(r.differing_predictions));
    text += with_times ? fmt::format(",{:.6f},{:.1f}\n", r.seconds, r.images_per_second) : "\n";
  }
  return text;
}

History without_times(History history) {
  for (EpochRecord& record : history) record.seconds = record.images_per_second = 0.0;
  return history;
}

double seconds_per_epoch(const History& history) {
  if (history.empty()) return 0.0;
  std::vector<double> seconds;
  for (const EpochRecord& record : history) {
    if (record.phase == history.back().phase) seconds.push_back(record.seconds);
  }
  if (seconds.size() > 1) seconds.erase(seconds.begin());
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

std::string history_json(const History& history) {
  json entries = json::array();
  for (const EpochRecord& record : history) entries.push_back(to_json(record));
  return entries.dump();
}

History parse_history(const std::string& text) {
  try {
    History history;
    const detail::ParsedJson entries(text);
    for (const json& entry : entries->get_ref<const json::array_t&>()) {
      history.push_back(from_json(entry));
    }
    return history;
  } catch (const json::exception& error) {
    throw FormatError(fmt::format("history: expected what history_json() wrote: {}", error.what()));
  }
}

}  // namespace octet
