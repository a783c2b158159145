#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/quantize/kernel_ranges.h>
#include <octet/train/distributed/messages.h>
#include <octet/train/evaluate_internal.h>
#include <octet/train/model_inputs.h>

#include <algorithm>
#include <cmath>
#include <optional>

// Metrics of a model's outputs.

namespace octet {
namespace {

using namespace detail;

std::vector<OutputMetric> of_first_output(const std::vector<Metric>& metrics) {
  std::vector<OutputMetric> result;
  result.reserve(metrics.size());
  for (const Metric& metric : metrics) result.push_back({0, metric});
  return result;
}

/// Each metric of outputs_of(batch), pieces weighted by their rows.
template <class OutputsOf>
std::vector<MetricValue> measure_in_pieces(const Dataset& data,
                                           const std::vector<OutputMetric>& metrics,
                                           ProcessGroup& group, OutputsOf&& outputs_of) {
  std::vector<Metric> named;
  for (const OutputMetric& each : metrics) {
    named.push_back(each.metric);
    if (each.output < data.outputs()) continue;
    throw InvalidArgument(
        fmt::format("measure: expected metric \"{}\" for one of the {} outputs that '{}' has "
                    "targets for, found "
                    "output {}; they are counted from 0",
                    each.metric.name, data.outputs(), data.name(), each.output));
  }
  check_metrics(named);
  check_not_empty("measure", data);
  const NoGrad guard;
  // By piece, every metric.
  std::vector<double> parts;
  each_own_piece(data, group, [&](std::size_t begin, std::size_t end) {
    const Batch batch = data.batch(begin, end);
    const std::vector<Tensor> outputs = outputs_of(batch);
    const std::vector<Targets> targets = batch.all_targets();
    for (const auto& [output, metric] : metrics) {
      parts.push_back(metric.value(outputs[output], targets[output]) *
                      static_cast<double>(targets[output].size()));
    }
  });
  parts = gather_values(group, parts);
  std::vector<MetricValue> values;
  values.reserve(metrics.size());
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    MetricValue& metric = values.emplace_back(MetricValue{metrics[i].metric.name, 0.0});
    for (std::size_t at = i; at < parts.size(); at += metrics.size()) metric.value += parts[at];
    metric.value /= static_cast<double>(data.size());
    if (std::isfinite(metric.value)) continue;
    throw NumericError(fmt::format("metric \"{}\": expected a finite number on \"{}\", found {}",
                                   metric.name, data.name(), metric.value));
  }
  return values;
}

/// A model that gives what losses take.
struct LossOutputs {
  /// Gives what enters a SOFTMAX instead of its result, and further what enters a LOGISTIC.
  IntegerModel model;
  /// By output of the model: which of them has the logits of its sigmoid.
  std::vector<std::optional<std::size_t>> logits{};
};

LossOutputs loss_outputs(const IntegerModel& model) {
  LossOutputs result{model};
  std::vector<std::int32_t>& outputs = result.model.outputs;
  for (std::size_t k = 0; k < model.outputs.size(); ++k) {
    result.logits.emplace_back();
    const ModelTensor& output = model.tensors[static_cast<std::size_t>(outputs[k])];
    if (output.dtype == DType::int32) {
      throw InvalidArgument(fmt::format(
          "measure: expected outputs that are scores, found \"{}\" of int32, classes themselves, "
          "of which evaluate() takes the accuracy; end the model in front of it",
          output.name));
    }
    const auto last = std::ranges::find_if(model.operators, [&](const Operator& op) {
      return std::ranges::count(op.outputs, model.outputs[k]) > 0;
    });
    if (last == model.operators.end()) continue;
    if (last->code == OpCode::softmax) outputs[k] = last->inputs[0];
    if (last->code != OpCode::logistic) continue;
    result.logits[k] = outputs.size();
    outputs.push_back(last->inputs[0]);
  }
  return result;
}

}  // namespace

std::vector<MetricValue> measure(const Model& model, const Dataset& data,
                                 const std::vector<OutputMetric>& metrics, ProcessGroup* group) {
  check_outputs("measure", data, model.output_layers().size());
  const WithCurrentKernelRanges current(model);
  return measure_in_pieces(data, metrics, group_or_alone(group), [&](const Batch& batch) {
    return current.model().forward_all_logits(fit_to_inputs(model, batch));
  });
}

std::vector<MetricValue> measure(const Model& model, const Dataset& data,
                                 const std::vector<Metric>& metrics, ProcessGroup* group) {
  check_one_output("measure", model.output_layers().size(), "metrics of type OutputMetric");
  return measure(model, data, of_first_output(metrics), group);
}

std::vector<MetricValue> measure(const IntegerModel& model, const Dataset& data,
                                 const std::vector<OutputMetric>& metrics) {
  check_outputs("measure", data, model.outputs.size());
  const LossOutputs taken = loss_outputs(model);
  Interpreter interpreter(taken.model, {.batch = kInterpreterBatch});
  const auto outputs_of = [&](const Batch& batch) {
    std::vector<Tensor> outputs = real_outputs(interpreter, batch);
    for (std::size_t k = 0; k < taken.logits.size(); ++k) {
      if (!taken.logits[k]) continue;
      detail::TensorAccess::set_logits(outputs[k], outputs[*taken.logits[k]]);
    }
    return outputs;
  };
  return measure_in_pieces(data, metrics, group_or_alone(nullptr), outputs_of);
}

std::vector<MetricValue> measure(const IntegerModel& model, const Dataset& data,
                                 const std::vector<Metric>& metrics) {
  check_one_output("measure", model.outputs.size(), "metrics of type OutputMetric");
  return measure(model, data, of_first_output(metrics));
}

}  // namespace octet
