#pragma once

#include <octet/runtime/integer_model.h>
#include <octet/runtime/interpreter.h>
#include <octet/train/data/dataset.h>

#include <string>
#include <vector>

#include "options.h"

// A model that gives back its input learns what is normal: how wrong it is tells anomalies.

namespace octet::application {

/// The names of the classes that examples are of, "0" and so on where they have none; nothing where
/// their targets are no labels.
std::vector<std::string> classes_in(const Dataset& data);

/// Gives each example 0 where its class is one of these, else 1; empty where the data do not have
/// both, and where no class is named.
Labels anomalies_in(const Dataset& data, const std::vector<std::string>& normal);

/// The data whose training and validation parts have the classes of Options::normal alone, where it
/// names some; logs a warning where those that are scored are those that are trained on. Throws
/// command_line::UsageError for another task than reconstruction, and for a class without training
/// examples.
DataSplit normal_only(DataSplit data, const Options& options);

/// Says which classes are normal, and how many test examples are anomalies.
std::string anomaly_text(const std::vector<std::string>& normal, const Labels& anomalies);

/// Runs examples, which are their own targets; returns reconstruction_errors().
std::vector<float> errors_on(Interpreter& interpreter, const Dataset& data);

/// The error that kAnomalyPercentile of the examples do not exceed, which are their own targets.
float anomaly_threshold(const IntegerModel& model, const Dataset& data);

/// Tells how well the errors of examples part anomalies from normal ones.
struct AnomalyScores {
  double normal_error = 0.0;  ///< Means over the examples of a kind.
  double anomaly_error = 0.0;
  double roc_auc = 0.0;
};

/// Throws InvalidArgument where `anomalies`, 0 or 1 of each example, has not both.
AnomalyScores anomaly_scores(const std::vector<float>& errors, const Labels& anomalies);

}  // namespace octet::application
