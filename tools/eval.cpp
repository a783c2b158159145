#include <fmt/format.h>
#include <octet/application/anomaly.h>
#include <octet/application/data.h>
#include <octet/application/scores.h>
#include <octet/application/task.h>
#include <octet/core/clock.h>
#include <octet/core/did_you_mean.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/core/printable.h>
#include <octet/deploy/example_metadata.h>
#include <octet/train/evaluate.h>
#include <octet/train/outputs.h>
#include <octet/train/scores.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "commands.h"
#include "load_examples.h"
#include "npz_data.h"
#include "show.h"

namespace octet::tools {
namespace {

void check_sizes(const Interpreter& interpreter, const Dataset& data) {
  const ModelTensor& input =
      interpreter.model().tensors[static_cast<std::size_t>(interpreter.model().inputs[0])];
  if (input.size() != data.example_shape().size()) {
    throw InvalidArgument(fmt::format("eval: the model takes samples [{}], the examples are {}",
                                      fmt::join(input.shape, ", "),
                                      data.example_shape().to_string()));
  }
  if (data.empty()) throw InvalidArgument("eval: the data set has no test examples");
}

/// What each output comes to: the accuracy where its targets are labels, else the mean absolute
/// error.
nlohmann::ordered_json scores_of(Interpreter& interpreter, const Dataset& data) {
  nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
  for (const OutputEvaluation& result : evaluate_outputs(interpreter, data)) {
    nlohmann::ordered_json output{{"name", interpreter.get_output_details()[outputs.size()].name}};
    if (result.classes) {
      output["correct"] = std::llround(result.score() * static_cast<double>(data.size()));
      output["accuracy"] = result.score();
    } else {
      output["mean_absolute_error"] = result.score();
    }
    outputs.push_back(std::move(output));
  }
  return outputs;
}

/// Adds the scores of the task, those that `octet train` gives, to outputs whose targets are
/// numbers.
void add_task_scores(nlohmann::ordered_json& outputs, Interpreter& interpreter,
                     const Dataset& data) {
  std::vector<std::size_t> scored;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (!data.has_labels(k)) scored.push_back(k);
  }
  if (scored.empty()) return;
  const auto scores = application::task_scores(interpreter, data, application::task_of(data), {});
  for (const std::size_t k : scored) {
    for (const MetricValue& one : scores[k]) outputs[k]["scores"][one.name] = one.value;
  }
}

/// One score of each label, null where there is none: their means are those of the task.
nlohmann::ordered_json scores_of_labels(const std::string& name, const Tensor& outputs,
                                        const Tensor& targets, float threshold) {
  nlohmann::ordered_json found = nlohmann::ordered_json::array();
  for (const auto& value : application::label_values(name, outputs, targets, threshold)) {
    found.push_back(value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json());
  }
  return found;
}

/// Throws UsageError for a name that is none of --metrics.
void require_metric_names(const std::vector<std::string>& names) {
  std::vector<std::string> known{"confusion"};
  for (const std::string_view name : octet::score_names()) known.emplace_back(name);
  for (const std::string& name : names) {
    // top_K stands for any number, which score() reads.
    if (name.starts_with("top_") || std::ranges::find(known, name) != known.end()) continue;
    throw UsageError(fmt::format("--metrics: expected one of {}, found '{}'{}",
                                 fmt::join(known, ", "), printable(name),
                                 did_you_mean(name, known)));
  }
}

/// The numbers of --metrics: see score(). "confusion" is a list of lists; of several labels there
/// is a list with a number for each.
nlohmann::ordered_json metrics_of(const EvalOptions& options, Interpreter& interpreter,
                                  const Dataset& data) {
  nlohmann::ordered_json found;
  if (options.metrics.empty()) return found;
  require_metric_names(options.metrics);
  if (interpreter.model().outputs.size() != 1 || data.inputs() != 1 || data.outputs() != 1) {
    throw UsageError("--metrics: expected a model of one input and one output, found several");
  }
  const ModelTensor& output =
      interpreter.model().tensors[static_cast<std::size_t>(interpreter.model().outputs[0])];
  if (output.dtype == DType::int32) {
    throw UsageError(fmt::format(
        "--metrics: expected a score of each class, found output '{}' of int32, classes "
        "themselves, of which the accuracy is shown without it",
        printable(output.name)));
  }
  const Tensor values = outputs_on(interpreter, data).front();
  const Targets targets = data.targets(0, data.size());
  const auto count = static_cast<Index>(data.size());
  const Shape shape =
      targets.are_labels() ? Shape{count, values.size() / count} : targets.values().shape();
  if (shape.size() != values.size()) {
    throw InvalidArgument(fmt::format("eval: the model gives {} values for targets {}",
                                      values.size(), shape.to_string()));
  }
  const Tensor outputs = values.reshape(shape);
  const float threshold = decision_threshold(interpreter.model()).value_or(0.5F);
  const bool has_several = application::task_of(data) == application::Task::multi_label;
  for (const std::string& name : options.metrics) {
    try {
      // Errors are those of numbers, which labels of 0 and 1 are too.
      if (has_several && name != "mean_absolute_error" && name != "r2") {
        found[name] = scores_of_labels(name, outputs, targets.values(), threshold);
        continue;
      }
      if (name != "confusion") {
        found[name] = score(name, outputs, targets, threshold);
        continue;
      }
      const Labels said =
          classes_of(outputs, shape[1] == 1 ? std::optional(threshold) : std::nullopt);
      found[name] = confusion_matrix(said, targets.labels(),
                                     std::max({data.classes(), static_cast<int>(shape[1]), 2}));
    } catch (const InvalidArgument& error) {
      throw UsageError(fmt::format("--metrics: {}", error.what()));
    }
  }
  return found;
}

void show_metrics(const nlohmann::ordered_json& metrics) {
  for (const auto& [name, value] : metrics.items()) {
    if (value.is_number()) {
      show("{}: {:.6g}\n", name, value.get<double>());
      continue;
    }
    if (!value.front().is_array()) {
      std::vector<std::string> numbers;
      for (const nlohmann::ordered_json& one : value) {
        numbers.push_back(one.is_null() ? "-" : fmt::format("{:.6g}", one.get<double>()));
      }
      show("{} of each label: {}\n", name, fmt::join(numbers, ", "));
      continue;
    }
    show("{}, a row for each label:\n", name);
    for (const nlohmann::ordered_json& row : value) {
      show("  {}\n", fmt::join(row.get<std::vector<std::uint64_t>>(), " "));
    }
  }
}

/// Scores the errors of a model that gives back its input as signs of anomalies. Empty for another
/// model, and where the data do not have both normal examples, by the names in the file, and
/// others.
nlohmann::ordered_json anomalies_of(const EvalOptions& options, Interpreter& interpreter,
                                    const Dataset& labelled, const Dataset& data) {
  const IntegerModel& model = interpreter.model();
  const auto [normal, threshold] = application::in_file(options.model.file, [&] {
    return std::pair{normal_classes_of(model), anomaly_threshold_of(model)};
  });
  const Labels anomalies = application::anomalies_in(labelled, normal);
  if (anomalies.empty()) return {};
  const std::vector<float> errors = application::errors_on(interpreter, data);
  const application::AnomalyScores scores = application::anomaly_scores(errors, anomalies);
  nlohmann::ordered_json found{{"roc_auc", scores.roc_auc},
                               {"normal_error", scores.normal_error},
                               {"anomaly_error", scores.anomaly_error},
                               {"anomalies", std::ranges::count(anomalies, 1)}};
  if (!threshold) return found;
  std::array<std::int64_t, 2> above{};
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (errors[i] > *threshold) ++above[static_cast<std::size_t>(anomalies[i])];
  }
  found["threshold"] = *threshold;
  found["found"] = above[1];
  found["false_alarms"] = above[0];
  return found;
}

void show_anomalies(const nlohmann::ordered_json& found, std::size_t samples) {
  if (found.empty()) return;
  show(
      "anomalies: ROC AUC {:.6g}, mean squared error {:.6g} of normal examples, {:.6g} of others\n",
      found.at("roc_auc").get<double>(), found.at("normal_error").get<double>(),
      found.at("anomaly_error").get<double>());
  if (!found.contains("threshold")) return;
  const auto anomalies = found.at("anomalies").get<std::size_t>();
  show("threshold {:.6g}: {} of {} anomalies found, {} false alarms of {} normal examples\n",
       found.at("threshold").get<double>(), found.at("found").get<std::int64_t>(), anomalies,
       found.at("false_alarms").get<std::int64_t>(), samples - anomalies);
}

/// Adds which examples of the data are scored, where the model's training divided its own.
void add_part(nlohmann::ordered_json& json, const application::TestData& data) {
  if (!data.text.empty()) json["is_trained_split"] = data.is_trained_split;
}

/// Scores every output. `test` is the data as it was read.
void eval_outputs(const EvalOptions& options, Interpreter& interpreter,
                  application::TestData test) {
  Dataset& labelled = test.examples;
  if (options.limit > 0) labelled = labelled.head(options.limit);
  const Dataset data = application::prepared_for(options.model.file, interpreter.model(), labelled);
  resize_for(interpreter, data.size());
  const double start = detail::clock_seconds();
  nlohmann::ordered_json outputs = scores_of(interpreter, data);
  const double seconds = detail::clock_seconds() - start;
  add_task_scores(outputs, interpreter, data);
  const nlohmann::ordered_json metrics = metrics_of(options, interpreter, data);
  const nlohmann::ordered_json anomalies = anomalies_of(options, interpreter, labelled, data);
  if (options.json) {
    nlohmann::ordered_json json{{"file", options.model.file},
                                {"data", data.name()},
                                {"samples", data.size()},
                                {"outputs", outputs},
                                {"rounding", to_string(interpreter.rounding())},
                                {"threads", num_threads()},
                                {"seconds", seconds}};
    add_part(json, test);
    if (!metrics.empty()) json["metrics"] = metrics;
    if (!anomalies.empty()) json["anomalies"] = anomalies;
    show_json(json);
    return;
  }
  for (const nlohmann::ordered_json& output : outputs) {
    const std::string name = printable(output.at("name").get<std::string>(), kMostOfName);
    if (output.contains("accuracy")) {
      show("{}: accuracy {:.2f} % ({} of {})\n", name, 100 * output.at("accuracy").get<double>(),
           output.at("correct").get<std::int64_t>(), data.size());
    } else {
      show("{}: mean absolute error {:.6g}\n", name,
           output.at("mean_absolute_error").get<double>());
    }
    if (!output.contains("scores")) continue;
    for (const auto& [score, value] : output.at("scores").items()) {
      show("{}: {} {:.6g}\n", name, score, value.get<double>());
    }
  }
  show_metrics(metrics);
  show_anomalies(anomalies, data.size());
  show("{} samples, rounding {}, {:.3f} s\n", data.size(), to_string(interpreter.rounding()),
       seconds);
  show("{}", test.text);
}

}  // namespace

void eval(const EvalOptions& options) {
  Interpreter interpreter = options.model.open(1);
  const IntegerModel& model = interpreter.model();
  application::TestData test =
      load_test_for(options.model.file, model, options.data, options.data_options);
  if (has_named_arrays(options.data, model)) {
    eval_outputs(options, interpreter, std::move(test));
    return;
  }
  Dataset& data = test.examples;
  check_sizes(interpreter, data);
  const bool gives_back =
      application::in_file(options.model.file, [&] { return reconstructs(model); });
  if (!data.has_labels() || gives_back) {
    eval_outputs(options, interpreter, std::move(test));
    return;
  }
  data = application::prepared_for(options.model.file, model, std::move(data));
  if (options.limit > 0) data = data.head(options.limit);
  resize_for(interpreter, data.size());

  const double start = detail::clock_seconds();
  const double accuracy = evaluate(interpreter, data).accuracy;
  const double seconds = detail::clock_seconds() - start;
  const auto correct = std::llround(accuracy * static_cast<double>(data.size()));
  const nlohmann::ordered_json metrics = metrics_of(options, interpreter, data);
  if (options.json) {
    nlohmann::ordered_json json{
        {"file", options.model.file}, {"data", data.name()},
        {"samples", data.size()},     {"correct", correct},
        {"accuracy", accuracy},       {"rounding", to_string(interpreter.rounding())},
        {"threads", num_threads()},   {"seconds", seconds}};
    add_part(json, test);
    if (!metrics.empty()) json["metrics"] = metrics;
    show_json(json);
    return;
  }
  show("accuracy {:.2f} % ({} of {} examples), rounding {}, {:.3f} s\n", 100 * accuracy, correct,
       data.size(), to_string(interpreter.rounding()), seconds);
  show_metrics(metrics);
  show("{}", test.text);
}

}  // namespace octet::tools
