#include <fmt/format.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/ops/reduce.h>
#include <octet/core/parallel.h>
#include <octet/layers/quantize/kernel_ranges.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/runtime/interpreter.h>
#include <octet/train/evaluate.h>

#include <algorithm>
#include <cmath>

namespace octet {
namespace {

constexpr std::size_t kRowsPerPass = 1000;
constexpr Index kInterpreterBatch = kRowsPerPass;

/// Runs `predict_rows` on pieces of the data set and scores the result.
template <class Predict>
Evaluation evaluate_in_pieces(const Dataset& data, Predict&& predict_rows) {
  Evaluation result;
  result.predictions.reserve(data.size());
  std::size_t right = 0;
  const auto add_piece = [&](std::size_t begin) {
    const std::size_t end = std::min(data.size(), begin + kRowsPerPass);
    const Labels predicted = predict_rows(begin, end);
    // Examples of another size can be a whole number of an interpreter's samples all the same.
    if (predicted.size() != end - begin) {
      throw InvalidArgument(fmt::format(
          "evaluate: {} examples of shape {} are {} samples of the model; does the data set "
          "belong to another model?",
          end - begin, data.example_shape().to_string(), predicted.size()));
    }
    for (std::size_t i = begin; i < end; ++i) {
      right += predicted[i - begin] == data.labels()[i] ? 1U : 0U;
    }
    result.predictions.insert(result.predictions.end(), predicted.begin(), predicted.end());
  };
  parallel_region([&] {
    for (std::size_t i = 0; i < data.size(); i += kRowsPerPass) add_piece(i);
  });
  if (!data.empty()) {
    result.accuracy = static_cast<double>(right) / static_cast<double>(data.size());
  }
  return result;
}

/// With kernel ranges as they are.
Labels predict_rows(const Model& model, const Tensor& features) {
  const NoGrad guard;
  const Tensor input = fit_to_input(model, features);
  // The export's classes are those of its integer softmax; a float model's are those of its logits.
  return argmax(is_quantized(model) ? model.forward(input) : model.forward_logits(input));
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
  return predict_rows(WithCurrentKernelRanges(model).model(), features);
}

Evaluation evaluate(const Model& model, const Dataset& data) {
  const WithCurrentKernelRanges current(model);
  return evaluate_in_pieces(data, [&](std::size_t begin, std::size_t end) {
    return predict_rows(current.model(), data.features(begin, end));
  });
}

std::vector<MetricValue> measure(const Model& model, const Dataset& data,
                                 const std::vector<Metric>& metrics) {
  check_metrics(metrics);
  if (data.empty()) throw InvalidArgument("measure: expected examples, found an empty data set");
  std::vector<MetricValue> values;
  for (const Metric& metric : metrics) values.push_back({metric.name, 0.0});
  const WithCurrentKernelRanges current(model);
  const NoGrad guard;
  for (std::size_t begin = 0; begin < data.size(); begin += kRowsPerPass) {
    const std::size_t end = std::min(data.size(), begin + kRowsPerPass);
    const Tensor output =
        current.model().forward_logits(fit_to_input(model, data.features(begin, end)));
    const auto labels = data.labels().subspan(begin, end - begin);
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      values[i].value += metrics[i].value(output, labels) * static_cast<double>(labels.size());
    }
  }
  for (MetricValue& metric : values) {
    metric.value /= static_cast<double>(data.size());
    if (std::isfinite(metric.value)) continue;
    throw NumericError(fmt::format("metric \"{}\": expected a finite number on \"{}\", found {}",
                                   metric.name, data.name(), metric.value));
  }
  return values;
}

Evaluation evaluate(const IntegerModel& model, const Dataset& data) {
  Interpreter interpreter(model, {.batch = kInterpreterBatch});
  return evaluate(interpreter, data);
}

Evaluation evaluate(Interpreter& interpreter, const Dataset& data) {
  const auto size = static_cast<std::size_t>(data.example_shape().size());
  return evaluate_in_pieces(data, [&](std::size_t begin, std::size_t end) {
    if (data.bytes().empty()) return interpreter.predict(data.features(begin, end).span());
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
