#pragma once

#include <octet/layers/model.h>
#include <octet/runtime/integer_model.h>
#include <octet/runtime/interpreter.h>
#include <octet/train/data/dataset.h>
#include <octet/train/distributed/process_group.h>
#include <octet/train/metric.h>
#include <octet/train/model_inputs.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace octet {

/// A model's predictions on a data set.
struct Evaluation {
  Labels predictions;
  /// The share of rows predicted right.
  double accuracy = 0.0;
};

/// The class of each row: see decision_threshold(). A quantized model is run as it is simulated,
/// with the ranges of its kernels as they are now. Changes nothing: several threads may use one
/// model at once. predict() throws NumericError that names the row for features with NaN,
/// evaluate() InvalidArgument for an empty data set: nothing has no accuracy.
///
/// With a group, all of whose ranks call the function, each rank scores some of the pieces of rows,
/// here and in the functions below; all return what one process alone would, to the last bit.
Labels predict(const Model& model, const Tensor& features);
Evaluation evaluate(const Model& model, const Dataset& data, ProcessGroup* group = nullptr);

/// What one output of a model comes to on a data set.
struct OutputEvaluation {
  /// Where its targets are class labels.
  std::optional<Evaluation> classes{};
  /// Where they are tensors of the output's size: the mean of |output - target| over examples and
  /// values. Of a softmax the output is its probabilities.
  std::optional<double> mean_absolute_error{};

  /// The accuracy, or the mean absolute error. Throws InvalidArgument where there is neither.
  double score() const;
};

/// Evaluates every output of a model, in their order. Otherwise as evaluate(), which is for a model
/// of one output with class labels. Throws InvalidArgument for a data set with targets for another
/// number of outputs.
std::vector<OutputEvaluation> evaluate_outputs(const Model& model, const Dataset& data,
                                               ProcessGroup* group = nullptr);
std::vector<OutputEvaluation> evaluate_outputs(const IntegerModel& model, const Dataset& data,
                                               ProcessGroup* group = nullptr);
std::vector<OutputEvaluation> evaluate_outputs(Interpreter& interpreter, const Dataset& data,
                                               ProcessGroup* group = nullptr);

/// A metric, and the number of the output of a model that it measures.
struct OutputMetric {
  std::size_t output = 0;
  Metric metric;
};

/// Each metric on all of `data`: the mean, weighted by rows, of its values for pieces of 1000 rows
/// and a smaller last one. That is the metric of the whole for any that is a mean over rows. A
/// quantized model is run as predict() runs it. Throws InvalidArgument as check_metrics() and for
/// an empty data set, NumericError that names a metric which is NaN or infinite.
std::vector<MetricValue> measure(const Model& model, const Dataset& data,
                                 const std::vector<Metric>& metrics, ProcessGroup* group = nullptr);

/// Measures outputs of a model of several. Throws InvalidArgument also for an output that the model
/// does not have, and for a data set with targets for another number of outputs.
std::vector<MetricValue> measure(const Model& model, const Dataset& data,
                                 const std::vector<OutputMetric>& metrics,
                                 ProcessGroup* group = nullptr);

/// Measures the metrics on the outputs of the integer engine as real values: of an output that a
/// SOFTMAX gives, what enters it, as forward_logits() gives it.
std::vector<MetricValue> measure(const IntegerModel& model, const Dataset& data,
                                 const std::vector<Metric>& metrics);
std::vector<MetricValue> measure(const IntegerModel& model, const Dataset& data,
                                 const std::vector<OutputMetric>& metrics);

/// Evaluates a lowered model by the integer engine. Throws InvalidArgument for an empty data set
/// and where the sizes of examples and of the model's input differ.
Evaluation evaluate(const IntegerModel& model, const Dataset& data, ProcessGroup* group = nullptr);
Evaluation evaluate(Interpreter& interpreter, const Dataset& data, ProcessGroup* group = nullptr);

/// In how many examples an output of the simulation and of the integers differs.
std::size_t count_differing_outputs(const Model& simulated, const IntegerModel& integers,
                                    const Dataset& data, ProcessGroup* group = nullptr);

/// In how many rows two evaluations of one data set differ.
std::size_t count_differing(const Evaluation& a, const Evaluation& b);

namespace detail {

/// The outputs of the integer engine for a tensor [n, ...] of each input.
std::vector<std::vector<float>> run_all(Interpreter& interpreter, std::span<const Tensor> inputs);

}  // namespace detail

}  // namespace octet
