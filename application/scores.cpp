#include "scores.h"

#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/runtime/interpreter.h>
#include <octet/train/outputs.h>
#include <octet/train/scores.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "task.h"

namespace octet::application {
namespace {

bool has_both(const Labels& labels) {
  return std::ranges::count(labels, 0) > 0 && std::ranges::count(labels, 1) > 0;
}

std::vector<MetricValue> by_name(const std::vector<const char*>& names, const Tensor& outputs,
                                 const Targets& targets, float threshold) {
  std::vector<MetricValue> values;
  values.reserve(names.size());
  for (const char* name : names) {
    values.push_back({name, score(name, outputs, targets, threshold)});
  }
  return values;
}

std::vector<MetricValue> class_scores(const Tensor& outputs, const Targets& labels,
                                      float threshold) {
  const Index width = outputs.dim(1);
  // Classes that the outputs do not have are no rows of their tables.
  if (std::ranges::any_of(labels.labels(),
                          [&](std::int32_t label) { return label >= std::max<Index>(width, 2); })) {
    return {};
  }
  std::vector<const char*> names = {"precision", "recall", "f1"};
  if (width <= 2 && has_both(labels.labels())) names.push_back("roc_auc");
  if (width > 3) names.push_back("top_3");
  if (width > 10) names.push_back("top_5");
  return by_name(names, outputs, labels, threshold);
}

/// Column `k` of rows.
Tensor column_of(const Tensor& rows, Index k) {
  std::vector<float> values;
  for (Index row = 0; row < rows.dim(0); ++row) {
    values.push_back(rows.data()[row * rows.dim(1) + k]);
  }
  return Tensor::from({rows.dim(0), 1}, values);
}

/// Each label is a question of its own, which a label that no example has does not ask.
std::vector<MetricValue> label_scores(const Tensor& outputs, const Tensor& targets,
                                      float threshold) {
  std::vector<MetricValue> values;
  for (const Metric& metric : {binary_accuracy(threshold), exact_match(threshold)}) {
    values.push_back({metric.name, metric.value(outputs, targets)});
  }
  for (const char* name : {"precision", "recall", "f1", "roc_auc"}) {
    double sum = 0.0;
    int labels = 0;
    for (const auto& value : label_values(name, outputs, targets, threshold)) {
      if (!value) continue;
      sum += *value;
      ++labels;
    }
    if (labels > 0) values.push_back({name, sum / labels});
  }
  return values;
}

std::vector<MetricValue> reconstruction_scores(const Tensor& outputs, const Tensor& targets,
                                               const Labels& anomalies) {
  const std::vector<float> errors = reconstruction_errors(outputs, targets);
  double sum = 0.0;
  for (const float error : errors) sum += double{error};
  std::vector<MetricValue> values{{"mean_squared_error", sum / static_cast<double>(errors.size())}};
  if (!anomalies.empty()) values.push_back({"roc_auc", roc_auc(errors, anomalies)});
  return values;
}

/// The class of each row; one value says class 1 above `threshold`.
Labels classes_in_rows(const Tensor& rows, float threshold) {
  return classes_of(rows, rows.dim(1) == 1 ? std::optional(threshold) : std::nullopt);
}

/// What `judge` makes of each output of a model, by its task, values, targets and threshold.
template <class Judge>
auto of_outputs(Interpreter& interpreter, const Dataset& data, std::optional<Task> task,
                ProcessGroup* group, const Judge& judge) {
  const std::vector<Tensor> outputs = outputs_on(interpreter, data, group);
  const std::vector<Targets> targets = data.outputs() == 1
                                           ? std::vector{data.targets(0, data.size())}
                                           : data.batch(0, data.size()).all_targets();
  std::vector<decltype(judge(Task(), outputs[0], targets[0], 0.0F))> result;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const Task own = outputs.size() == 1 && task ? *task : task_of(targets[k]);
    const float threshold = decision_threshold(interpreter.model(), k).value_or(0.5F);
    result.push_back(judge(own, outputs[k], targets[k], threshold));
  }
  return result;
}

}  // namespace

std::vector<std::optional<double>> label_values(std::string_view name, const Tensor& outputs,
                                                const Tensor& targets, float threshold) {
  if (std::ranges::find(kLabelScores, name) == kLabelScores.end()) {
    throw InvalidArgument(fmt::format("expected a score of each of several labels, {}, found {}",
                                      fmt::join(kLabelScores, ", "), name));
  }
  std::vector<std::optional<double>> values;
  for (Index k = 0; k < outputs.dim(1); ++k) {
    std::optional<double>& value = values.emplace_back();
    const Tensor column = column_of(outputs, k);
    const Labels labels = classes_of(column_of(targets, k), 0.5F);
    const ConfusionMatrix counts = confusion_matrix(classes_of(column, threshold), labels, 2);
    if (name == "accuracy") {
      value = static_cast<double>(counts[0][0] + counts[1][1]) / static_cast<double>(labels.size());
    } else if (std::ranges::count(labels, 1) == 0) {
      continue;
    } else if (name == "precision") {
      value = precision_of(counts, 1);
    } else if (name == "recall") {
      value = recall_of(counts, 1);
    } else if (name == "f1") {
      value = f1_of(counts, 1);
    } else if (has_both(labels)) {
      value = roc_auc(column.span(), labels);
    }
  }
  return values;
}

std::vector<MetricValue> task_scores(Task task, const Tensor& outputs, const Targets& targets,
                                     float threshold, const Labels& anomalies) {
  const Index rows = outputs.dim(0);
  if (targets.are_labels()) {
    return class_scores(outputs.reshape({rows, outputs.size() / rows}), targets, threshold);
  }
  if (targets.values().size() != outputs.size()) return {};
  const Tensor& values = targets.values();
  const Tensor shaped = outputs.reshape(values.shape());
  switch (task) {
    case Task::multi_label:
      return label_scores(shaped, values, threshold);
    case Task::segmentation:
      return by_name({"accuracy", "iou", "dice"}, shaped, values, threshold);
    case Task::reconstruction:
      return reconstruction_scores(shaped, values, anomalies);
    case Task::classification:
    case Task::regression:
      break;
  }
  return by_name({"r2"}, shaped, values, threshold);
}

std::optional<Baseline> task_baseline(Task task, const Tensor& outputs, const Targets& targets,
                                      float threshold, const Labels& anomalies) {
  if (targets.are_labels() || targets.values().size() != outputs.size()) return std::nullopt;
  const Tensor& values = targets.values();
  switch (task) {
    case Task::multi_label:
      return commonest_labels(outputs, values, threshold);
    case Task::segmentation: {
      const Shape places{-1, values.dim(-1)};
      return commonest_of_places(classes_in_rows(outputs.reshape(places), threshold),
                                 classes_in_rows(values.reshape(places), 0.5F),
                                 static_cast<std::size_t>(values.dim(0)));
    }
    case Task::reconstruction:
      if (!anomalies.empty()) return chance(reconstruction_errors(outputs, values), anomalies);
      break;
    case Task::classification:
    case Task::regression:
      break;
  }
  return mean_of_targets(outputs, values);
}

std::vector<std::vector<MetricValue>> task_scores(Interpreter& interpreter, const Dataset& data,
                                                  std::optional<Task> task, const Labels& anomalies,
                                                  ProcessGroup* group) {
  return of_outputs(interpreter, data, task, group,
                    [&](Task own, const Tensor& outputs, const Targets& targets, float threshold) {
                      return task_scores(own, outputs, targets, threshold, anomalies);
                    });
}

std::vector<std::optional<Baseline>> task_baselines(const IntegerModel& model, const Dataset& data,
                                                    std::optional<Task> task,
                                                    const Labels& anomalies) {
  Interpreter interpreter(model, {.batch = kScoredAtOnce});
  return of_outputs(interpreter, data, task, nullptr,
                    [&](Task own, const Tensor& outputs, const Targets& targets, float threshold) {
                      return task_baseline(own, outputs, targets, threshold, anomalies);
                    });
}

std::vector<std::vector<MetricValue>> task_scores(const IntegerModel& model, const Dataset& data,
                                                  std::optional<Task> task, const Labels& anomalies,
                                                  ProcessGroup* group) {
  Interpreter interpreter(model, {.batch = kScoredAtOnce});
  return task_scores(interpreter, data, task, anomalies, group);
}

}  // namespace octet::application
