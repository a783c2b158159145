#pragma once

#include <octet/core/tensor.h>
#include <octet/report/baseline.h>
#include <octet/runtime/integer_model.h>
#include <octet/runtime/interpreter.h>
#include <octet/train/data/dataset.h>
#include <octet/train/distributed/process_group.h>
#include <octet/train/metric.h>

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "options.h"

namespace octet::application {

/// How many examples are run at a time.
inline constexpr Index kScoredAtOnce = 1000;

/// Scores of outputs [n, ...], beside the accuracy or the mean absolute error that each has, by
/// what is learned:
///
/// - classification: precision, recall and F1, means over the classes; ROC AUC of two classes,
///   top_3 of more than three, top_5 of more than ten;
/// - several labels: binary_accuracy and exact_match; precision, recall, F1 and ROC AUC, means over
///   the labels;
/// - segmentation: accuracy of places, IoU and Dice, means over the classes;
/// - regression: R2;
/// - reconstruction: mean squared error; where `anomalies`, 0 or 1 of each example, has both, the
///   ROC AUC of the error of an example as its score.
///
/// Leaves out the scores that need examples of classes which the targets lack; empty for targets of
/// another size than outputs.
std::vector<MetricValue> task_scores(Task task, const Tensor& outputs, const Targets& targets,
                                     float threshold, const Labels& anomalies = {});

/// The names that label_values() knows.
inline constexpr std::array<std::string_view, 5> kLabelScores = {"accuracy", "precision", "recall",
                                                                 "f1", "roc_auc"};

/// A score of each label, the columns of outputs and targets [n, labels], by one of these names;
/// none of labels that no example has, and the ROC AUC of those that all have. Throws
/// InvalidArgument for another name.
std::vector<std::optional<double>> label_values(std::string_view name, const Tensor& outputs,
                                                const Tensor& targets, float threshold);

/// Outputs against a guess that does not look at the input; none for labels, of which
/// measure_report() counts it, and for targets of another size than outputs. See Baseline.
std::optional<Baseline> task_baseline(Task task, const Tensor& outputs, const Targets& targets,
                                      float threshold, const Labels& anomalies = {});

/// Gives task_baseline() of each output of a model in a file.
std::vector<std::optional<Baseline>> task_baselines(const IntegerModel& model, const Dataset& data,
                                                    std::optional<Task> task,
                                                    const Labels& anomalies);

/// Gives task_scores() of each output of a model that `interpreter` runs. `task`: what a single
/// output learns; none: by its targets. All ranks of the group call it, and share the examples.
std::vector<std::vector<MetricValue>> task_scores(Interpreter& interpreter, const Dataset& data,
                                                  std::optional<Task> task, const Labels& anomalies,
                                                  ProcessGroup* group = nullptr);

/// Gives task_scores() of each output of a model in a file.
std::vector<std::vector<MetricValue>> task_scores(const IntegerModel& model, const Dataset& data,
                                                  std::optional<Task> task, const Labels& anomalies,
                                                  ProcessGroup* group = nullptr);

}  // namespace octet::application
