#include <fmt/format.h>
#include <fmt/ranges.h>
#include <octet/core/error.h>
#include <octet/core/json_text.h>
#include <octet/train/history.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace octet {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 10> kColumns = {"phase",
                                                       "epoch",
                                                       "learning_rate",
                                                       "train_loss",
                                                       "train_accuracy",
                                                       "test_accuracy",
                                                       "integer_accuracy",
                                                       "differing_predictions",
                                                       "seconds",
                                                       "images_per_second"};
/// The times at the end, which are left out of a history without them.
constexpr std::size_t kTimes = 2;

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
                {"seconds", record.seconds},
                {"images_per_second", record.images_per_second},
                {"learning_rate", record.learning_rate}};
  if (record.train_accuracy) entry["train_accuracy"] = *record.train_accuracy;
  if (record.test_accuracy) entry["test_accuracy"] = *record.test_accuracy;
  if (record.integer_accuracy) entry["integer_accuracy"] = *record.integer_accuracy;
  if (record.differing_predictions) {
    entry["differing_predictions"] = *record.differing_predictions;
  }
  // A list: a JSON object does not keep their order.
  for (const auto& [name, value] : record.metrics) entry["metrics"].push_back({name, value});
  return entry;
}

std::vector<MetricValue> metrics_from(const json& pairs) {
  std::vector<MetricValue> metrics;
  std::vector<std::string> names;
  for (const json& pair : pairs.get_ref<const json::array_t&>()) {
    metrics.push_back({pair.at(0).get<std::string>(), pair.at(1).get<double>()});
    names.push_back(metrics.back().name);
  }
  check_metric_names(names);
  return metrics;
}

EpochRecord from_json(const json& entry) {
  EpochRecord record;
  record.phase = entry.at("phase").get<std::string>();
  record.epoch = detail::whole_number<int>(entry.at("epoch"));
  record.train_loss = entry.at("train_loss").get<double>();
  record.train_accuracy = optional_from(entry, "train_accuracy");
  record.seconds = entry.at("seconds").get<double>();
  record.images_per_second = entry.at("images_per_second").get<double>();
  record.learning_rate = entry.at("learning_rate").get<float>();
  record.test_accuracy = optional_from(entry, "test_accuracy");
  record.integer_accuracy = optional_from(entry, "integer_accuracy");
  if (const auto differing = entry.find("differing_predictions"); differing != entry.end()) {
    record.differing_predictions = detail::whole_number<std::size_t>(*differing);
  }
  if (const auto metrics = entry.find("metrics"); metrics != entry.end()) {
    record.metrics = metrics_from(*metrics);
  }
  return record;
}

/// The names of all metrics of a history, in the order in which they first appear.
std::vector<std::string> metrics_of(const History& history) {
  std::vector<std::string> names;
  for (const EpochRecord& record : history) {
    for (const MetricValue& metric : record.metrics) {
      if (std::ranges::count(names, metric.name) == 0) names.push_back(metric.name);
    }
  }
  return names;
}

}  // namespace

std::optional<double> find_metric(const EpochRecord& record, std::string_view name) {
  const auto found = std::ranges::find(record.metrics, name, &MetricValue::name);
  return found == record.metrics.end() ? std::nullopt : std::optional(found->value);
}

std::span<const std::string_view> history_columns() { return kColumns; }

std::string history_csv(const History& history, bool with_times) {
  const std::span columns(kColumns);
  const std::vector<std::string> metrics = metrics_of(history);
  std::string text = fmt::format("{}", fmt::join(columns.first(columns.size() - kTimes), ","));
  for (const std::string& name : metrics) text += "," + name;
  text += with_times ? fmt::format(",{}\n", fmt::join(columns.last(kTimes), ",")) : "\n";
  for (const EpochRecord& r : history) {
    text += fmt::format("{},{},{},{},{},{},{},{}", r.phase, r.epoch, r.learning_rate, r.train_loss,
                        cell(r.train_accuracy), cell(r.test_accuracy), cell(r.integer_accuracy),
                        cell(r.differing_predictions));
    for (const std::string& name : metrics) text += fmt::format(",{}", cell(find_metric(r, name)));
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
    throw FormatError(
        fmt::format("history: expected what history_json() wrote: {}", detail::fault_text(error)));
  } catch (const InvalidArgument& error) {
    throw FormatError(fmt::format("history: {}", error.what()));
  }
}

}  // namespace octet
