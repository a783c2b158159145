#include "anomaly.h"

#include <fmt/format.h>
#include <octet/command_line/parse.h>
#include <octet/core/log.h>
#include <octet/core/printable.h>
#include <octet/core/quant/range_search.h>
#include <octet/deploy/example_metadata.h>
#include <octet/train/data/fingerprint.h>
#include <octet/train/outputs.h>
#include <octet/train/scores.h>

#include <algorithm>
#include <cstdint>

#include "scores.h"

namespace octet::application {
namespace {

constexpr std::size_t kMostOfNames = 200;

std::string names_text(const std::vector<std::string>& names) {
  return printable(fmt::format("{}", fmt::join(names, ", ")), kMostOfNames);
}

std::string name_of(const Dataset& data, std::int32_t label) {
  return data.class_names().empty() ? std::to_string(label)
                                    : data.class_names()[static_cast<std::size_t>(label)];
}

bool is_in(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// The examples of these classes.
Dataset of_classes(const Dataset& data, const std::vector<std::string>& names) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < data.size(); ++row) {
    if (is_in(names, name_of(data, data.labels()[row]))) rows.push_back(row);
  }
  return data.subset(rows).with_description(data.description());
}

}  // namespace

std::vector<std::string> classes_in(const Dataset& data) {
  std::vector<std::string> names;
  if (data.outputs() != 1 || !data.has_labels()) return names;
  for (std::int32_t label = 0; label < data.classes(); ++label) {
    if (std::ranges::count(data.labels(), label) > 0) names.push_back(name_of(data, label));
  }
  return names;
}

Labels anomalies_in(const Dataset& data, const std::vector<std::string>& normal) {
  if (normal.empty() || data.outputs() != 1 || !data.has_labels()) return {};
  Labels result;
  for (const std::int32_t label : data.labels()) {
    result.push_back(is_in(normal, name_of(data, label)) ? 0 : 1);
  }
  const auto count = std::ranges::count(result, 1);
  return count > 0 && count < std::ssize(result) ? result : Labels();
}

DataSplit normal_only(DataSplit data, const Options& options) {
  if (options.normal.empty()) return data;
  if (options.task != Task::reconstruction) {
    throw command_line::UsageError(
        "--normal: expected --task reconstruction with it, which learns normal examples alone, "
        "found another task");
  }
  const std::vector<std::string> found = classes_in(data.train);
  // The names may be those of a model's file, for data without labels.
  if (found.empty() && !options.file.empty()) return data;
  for (const std::string& name : options.normal) {
    if (is_in(found, name)) continue;
    throw command_line::UsageError(fmt::format(
        "--normal: expected classes that training examples are of, {}, found {}",
        found.empty() ? "of data whose targets are labels" : names_text(found), printable(name)));
  }
  if (data.train.size() == data.test.size() && fingerprint(data.train) == fingerprint(data.test)) {
    log_warn(
        "--normal: the normal examples that are scored are those that are trained on; --split or "
        "--test-data names others");
  }
  data.train = of_classes(data.train, options.normal);
  if (!data.validation.empty()) data.validation = of_classes(data.validation, options.normal);
  return data;
}

std::string anomaly_text(const std::vector<std::string>& normal, const Labels& anomalies) {
  if (normal.empty()) return "";
  std::string text = fmt::format("normal: {}; ", names_text(normal));
  if (anomalies.empty()) {
    return text +
           "no test example is of another class, so that there is no ROC AUC; if some of these "
           "are anomalies, give --normal NAME\n";
  }
  return text + fmt::format("{} of {} test examples are anomalies\n",
                            std::ranges::count(anomalies, 1), anomalies.size());
}

std::vector<float> errors_on(Interpreter& interpreter, const Dataset& data) {
  return reconstruction_errors(outputs_on(interpreter, data).front(),
                               data.targets(0, data.size()).values());
}

float anomaly_threshold(const IntegerModel& model, const Dataset& data) {
  Interpreter interpreter(model, {.batch = kScoredAtOnce});
  return percentile_magnitude(errors_on(interpreter, data), kAnomalyPercentile,
                              "anomaly_threshold");
}

AnomalyScores anomaly_scores(const std::vector<float>& errors, const Labels& anomalies) {
  AnomalyScores scores{.roc_auc = roc_auc(errors, anomalies)};
  const auto count = static_cast<double>(std::ranges::count(anomalies, 1));
  for (std::size_t i = 0; i < errors.size(); ++i) {
    (anomalies[i] == 1 ? scores.anomaly_error : scores.normal_error) += double{errors[i]};
  }
  scores.anomaly_error /= count;
  scores.normal_error /= static_cast<double>(errors.size()) - count;
  return scores;
}

}  // namespace octet::application
