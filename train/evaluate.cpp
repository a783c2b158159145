#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/quantize/kernel_ranges.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/runtime/interpreter.h>
#include <octet/train/distributed/messages.h>
#include <octet/train/distributed/parts.h>
#include <octet/train/evaluate.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

namespace octet {
namespace {

constexpr std::size_t kRowsPerPass = 1000;
constexpr Index kInterpreterBatch = kRowsPerPass;

void check_not_empty(const char* function, const Dataset& data) {
  if (!data.empty()) return;
  throw InvalidArgument(
      fmt::format("{}: expected examples, found an empty data set, '{}'", function, data.name()));
}

/// Calls add(begin, end) for the pieces of rows that are this rank's, in ascending order.
template <class Add>
void each_own_piece(const Dataset& data, const ProcessGroup& group, Add&& add) {
  const std::size_t pieces = (data.size() + kRowsPerPass - 1) / kRowsPerPass;
  const IndexRange own = part_of(pieces, static_cast<std::size_t>(group.size()),
                                 static_cast<std::size_t>(group.rank()));
  for (std::size_t i = own.begin; i < own.end; ++i) {
    add(i * kRowsPerPass, std::min(data.size(), (i + 1) * kRowsPerPass));
  }
}

/// Runs predict_rows(begin, end, features) on pieces of the data set and scores the result.
template <class Predict>
Evaluation evaluate_in_pieces(const Dataset& data, ProcessGroup& group, Predict&& predict_rows) {
  check_not_empty("evaluate", data);
  // Throws where there are none, of any number of examples.
  if (!data.has_labels()) static_cast<void>(data.labels());
  Labels predictions;
  // All predictions, and whether each is right: a set that is read is read once.
  std::vector<std::uint8_t> right;
  const auto add_piece = [&](std::size_t begin, std::size_t end) {
    // Together: a set that is read would be read twice.
    const Batch batch = data.batch(begin, end);
    const Labels predicted = predict_rows(begin, end, batch.features);
    // Examples of another size can be a whole number of an interpreter's samples all the same.
    if (predicted.size() != end - begin) {
      throw InvalidArgument(fmt::format(
          "evaluate: {} examples of shape {} are {} samples of the model; does the data set "
          "belong to another model?",
          end - begin, data.example_shape().to_string(), predicted.size()));
    }
    const Labels& labels = batch.targets.labels();
    for (std::size_t i = 0; i < labels.size(); ++i) right.push_back(predicted[i] == labels[i]);
    predictions.insert(predictions.end(), predicted.begin(), predicted.end());
  };
  parallel_region([&] { each_own_piece(data, group, add_piece); });
  Evaluation result{.predictions = gather_values(group, predictions)};
  right = gather_values(group, right);
  result.accuracy =
      static_cast<double>(std::ranges::count(right, 1)) / static_cast<double>(data.size());
  return result;
}

/// Each metric of outputs_of(features), pieces weighted by their rows.
template <class OutputsOf>
std::vector<MetricValue> measure_in_pieces(const Dataset& data, const std::vector<Metric>& metrics,
                                           ProcessGroup& group, OutputsOf&& outputs_of) {
  check_metrics(metrics);
  check_not_empty("measure", data);
  const NoGrad guard;
  // By piece, every metric.
  std::vector<double> parts;
  each_own_piece(data, group, [&](std::size_t begin, std::size_t end) {
    const auto [features, targets] = data.batch(begin, end);
    const Tensor output = outputs_of(features);
    for (const Metric& metric : metrics) {
      parts.push_back(metric.value(output, targets) * static_cast<double>(targets.size()));
    }
  });
  parts = gather_values(group, parts);
  std::vector<MetricValue> values;
  values.reserve(metrics.size());
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    MetricValue& metric = values.emplace_back(MetricValue{metrics[i].name, 0.0});
    for (std::size_t at = i; at < parts.size(); at += metrics.size()) metric.value += parts[at];
    metric.value /= static_cast<double>(data.size());
    if (std::isfinite(metric.value)) continue;
    throw NumericError(fmt::format("metric \"{}\": expected a finite number on \"{}\", found {}",
                                   metric.name, data.name(), metric.value));
  }
  return values;
}

bool ends_in(const IntegerModel& model, OpCode code) {
  return !model.operators.empty() && model.operators.back().code == code &&
         model.operators.back().outputs == model.outputs;
}

/// The model without its last operator: what that reads is the output.
IntegerModel without_end(IntegerModel model) {
  model.outputs = {model.operators.back().inputs[0]};
  model.operators.pop_back();
  return model;
}

/// The integer engine's outputs [rows, output_shape...] as real values.
Tensor real_outputs(Interpreter& interpreter, const Tensor& features) {
  const std::vector<float> values = interpreter.run(features.span());
  const IntegerModel& model = interpreter.model();
  std::vector<Index> extents = {features.dim(0)};
  const auto& shape = model.tensors[static_cast<std::size_t>(model.outputs[0])].shape;
  // Without the batch axis.
  for (std::size_t i = 1; i < shape.size(); ++i) extents.push_back(shape[i]);
  return Tensor::from(Shape(std::move(extents)), values);
}

/// Values per row.
std::size_t width_of(const Tensor& rows) {
  return rows.span().size() / static_cast<std::size_t>(rows.dim(0));
}

/// The class of a row with NaN would be an arbitrary one.
void check_no_nan(const Tensor& features) {
  // Bytes are numbers, and are not made floats for this.
  if (detail::TensorAccess::bytes(features) != nullptr) return;
  const auto values = features.span();
  const auto nan = std::ranges::find_if(values, [](float x) { return std::isnan(x); });
  if (nan == values.end()) return;
  const auto row = static_cast<std::size_t>(nan - values.begin()) / width_of(features);
  throw NumericError(
      fmt::format("predict: expected numbers, found NaN in row {} of the features", row));
}

/// Predicts the class of each row, with ranges of kernels as they are.
Labels predict_rows(const Model& model, const Tensor& features) {
  const NoGrad guard;
  const Tensor input = fit_to_input(model, features);
  // The export's classes are those of its integer softmax; a float model's are those of its logits.
  return classes_of(is_quantized(model) ? model.forward(input) : model.forward_logits(input),
                    decision_threshold(model));
}

}  // namespace

Tensor fit_to_input(const Model& model, const Tensor& features) {
  const Shape& expected = model.input_shape();
  if (features.shape().without_batch() == expected) return features;
  if (features.shape().without_batch().size() != expected.size()) {
    throw InvalidArgument(fmt::format(
        "model \"{}\" takes examples of shape {} ({} values), found {} ({} values)", model.name(),
        expected.to_string(), expected.size(), features.shape().without_batch().to_string(),
        features.shape().without_batch().size()));
  }
  return features.reshape(expected.with_batch(features.dim(0)));
}

Labels predict(const Model& model, const Tensor& features) {
  if (!features.defined()) {
    throw InvalidArgument("predict: expected features, found an undefined tensor");
  }
  check_no_nan(features);
  return predict_rows(WithCurrentKernelRanges(model).model(), features);
}

Evaluation evaluate(const Model& model, const Dataset& data, ProcessGroup* group) {
  const WithCurrentKernelRanges current(model);
  return evaluate_in_pieces(data, group_or_alone(group),
                            [&](std::size_t, std::size_t, const Tensor& features) {
                              return predict_rows(current.model(), features);
                            });
}

std::vector<MetricValue> measure(const Model& model, const Dataset& data,
                                 const std::vector<Metric>& metrics, ProcessGroup* group) {
  const WithCurrentKernelRanges current(model);
  return measure_in_pieces(data, metrics, group_or_alone(group), [&](const Tensor& features) {
    return current.model().forward_logits(fit_to_input(model, features));
  });
}

std::vector<MetricValue> measure(const IntegerModel& model, const Dataset& data,
                                 const std::vector<Metric>& metrics) {
  const InterpreterOptions options{.batch = kInterpreterBatch};
  Interpreter interpreter(ends_in(model, OpCode::softmax) ? without_end(model) : model, options);
  std::optional<Interpreter> before_sigmoid;
  if (ends_in(model, OpCode::logistic)) before_sigmoid.emplace(without_end(model), options);
  return measure_in_pieces(data, metrics, group_or_alone(nullptr), [&](const Tensor& features) {
    Tensor outputs = real_outputs(interpreter, features);
    if (before_sigmoid) {
      detail::TensorAccess::set_logits(outputs, real_outputs(*before_sigmoid, features));
    }
    return outputs;
  });
}

std::size_t count_differing_outputs(const Model& simulated, const IntegerModel& integers,
                                    const Dataset& data, ProcessGroup* group) {
  const WithCurrentKernelRanges current(simulated);
  const NoGrad guard;
  Interpreter interpreter(integers, {.batch = kInterpreterBatch});
  std::size_t differing = 0;
  each_own_piece(data, group_or_alone(group), [&](std::size_t begin, std::size_t end) {
    const Tensor features = data.features(begin, end);
    const Tensor expected = current.model().forward(fit_to_input(simulated, features));
    const Tensor found = real_outputs(interpreter, features);
    const std::size_t rows = found.span().size() / width_of(found);
    for (std::size_t row = 0; row < rows; ++row) {
      const auto of_row = [&](const Tensor& all) {
        return all.span().subspan(row * width_of(found), width_of(found));
      };
      differing += std::ranges::equal(of_row(expected), of_row(found)) ? 0U : 1U;
    }
  });
  const std::vector<std::size_t> counts =
      gather_values(group_or_alone(group), std::vector{differing});
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

Evaluation evaluate(const IntegerModel& model, const Dataset& data, ProcessGroup* group) {
  Interpreter interpreter(model, {.batch = kInterpreterBatch});
  return evaluate(interpreter, data, group);
}

Evaluation evaluate(Interpreter& interpreter, const Dataset& data, ProcessGroup* group) {
  const auto size = static_cast<std::size_t>(data.example_shape().size());
  return evaluate_in_pieces(
      data, group_or_alone(group), [&](std::size_t begin, std::size_t end, const Tensor& features) {
        if (data.bytes().empty()) return interpreter.predict(features.span());
        return interpreter.predict_bytes(data.bytes().subspan(begin * size, (end - begin) * size));
      });
}

std::size_t count_differing(const Evaluation& a, const Evaluation& b) {
  if (a.predictions.size() != b.predictions.size()) {
    throw InvalidArgument(fmt::format("count_differing: {} predictions against {}",
                                      a.predictions.size(), b.predictions.size()));
  }
  std::size_t differing = 0;
  for (std::size_t i = 0; i < a.predictions.size(); ++i) {
    differing += a.predictions[i] != b.predictions[i] ? 1U : 0U;
  }
  return differing;
}

}  // namespace octet
