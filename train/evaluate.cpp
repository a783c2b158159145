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
#include <octet/train/evaluate_internal.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

namespace octet {
namespace {

using namespace detail;

/// Output `number` of the integer engine, [rows, output_shape...].
Tensor shaped_output(const IntegerModel& model, std::size_t number, Index rows,
                     const std::vector<float>& values) {
  const ModelTensor& output = model.tensors[static_cast<std::size_t>(model.outputs[number])];
  return Tensor::from(output.example_shape().with_batch(rows), values);
}

/// One output on this rank's pieces of rows.
struct Scored {
  Labels predictions;
  std::vector<std::uint8_t> right;
  /// Where targets are tensors, by piece: the sum of |output - target|, and of how many values.
  std::vector<double> errors;
  std::vector<std::size_t> values;
};

void add_classes(Scored& scored, const Dataset& data, std::size_t rows, const Labels& predicted,
                 const Labels& labels) {
  // Examples of another size can be a whole number of an interpreter's samples all the same.
  if (predicted.size() != rows) {
    throw InvalidArgument(fmt::format(
        "evaluate: {} examples of shape {} are {} samples of the model; does the data set "
        "belong to another model?",
        rows, data.example_shape().to_string(), predicted.size()));
  }
  for (std::size_t i = 0; i < rows; ++i) scored.right.push_back(predicted[i] == labels[i]);
  scored.predictions.insert(scored.predictions.end(), predicted.begin(), predicted.end());
}

/// Nothing for targets of another size than the output, which a loss of its own may take.
void add_errors(Scored& scored, std::span<const float> output, std::span<const float> targets) {
  if (output.size() != targets.size()) return;
  double sum = 0.0;
  for (std::size_t i = 0; i < output.size(); ++i) {
    sum += std::abs(static_cast<double>(output[i]) - static_cast<double>(targets[i]));
  }
  scored.errors.push_back(sum);
  scored.values.push_back(output.size());
}

/// The whole of what all ranks have scored of one output.
OutputEvaluation gathered(const Scored& own, bool has_labels, std::size_t examples,
                          ProcessGroup& group) {
  OutputEvaluation result;
  if (has_labels) {
    result.classes = Evaluation{.predictions = gather_values(group, own.predictions)};
    result.classes->accuracy =
        static_cast<double>(std::ranges::count(gather_values(group, own.right), 1)) /
        static_cast<double>(examples);
    return result;
  }
  const std::vector<double> errors = gather_values(group, own.errors);
  const std::vector<std::size_t> values = gather_values(group, own.values);
  if (errors.empty()) return result;
  result.mean_absolute_error =
      std::accumulate(errors.begin(), errors.end(), 0.0) /
      static_cast<double>(std::accumulate(values.begin(), values.end(), std::size_t{0}));
  return result;
}

/// Runs predict_rows(begin, end, batch) on pieces of the data set and scores the result: for each
/// output its classes where its targets are labels, else its values.
template <class Predict>
std::vector<OutputEvaluation> evaluate_in_pieces(const Dataset& data, ProcessGroup& group,
                                                 Predict&& predict_rows) {
  check_not_empty("evaluate", data);
  std::vector<Scored> scored(data.outputs());
  const auto add_piece = [&](std::size_t begin, std::size_t end) {
    // Reads features and targets in one batch() call: streaming datasets read from disk each time.
    const Batch batch = data.batch(begin, end);
    const std::vector<Targets> predicted = predict_rows(begin, end, batch);
    const std::vector<Targets> targets = batch.all_targets();
    for (std::size_t k = 0; k < scored.size(); ++k) {
      if (targets[k].are_labels()) {
        add_classes(scored[k], data, end - begin, predicted[k].labels(), targets[k].labels());
      } else {
        add_errors(scored[k], predicted[k].values().span(), targets[k].values().span());
      }
    }
  };
  parallel_region([&] { each_own_piece(data, group, add_piece); });
  std::vector<OutputEvaluation> results;
  for (std::size_t k = 0; k < scored.size(); ++k) {
    results.push_back(gathered(scored[k], data.has_labels(k), data.size(), group));
  }
  return results;
}

/// Evaluates a model of one output, whose labels predict_rows() gives.
template <class Predict>
Evaluation evaluate_one_output(const Dataset& data, ProcessGroup& group, Predict&& predict_rows) {
  check_not_empty("evaluate", data);
  check_outputs("evaluate", data, 1);
  // Throws where there are none, of any number of examples.
  if (!data.has_labels()) static_cast<void>(data.labels());
  const auto predict_one = [&](std::size_t begin, std::size_t end, const Batch& batch) {
    return std::vector<Targets>{predict_rows(begin, end, batch)};
  };
  return *evaluate_in_pieces(data, group, predict_one).front().classes;
}

/// Values per row.
std::size_t width_of(const Tensor& rows) {
  return rows.span().size() / static_cast<std::size_t>(rows.dim(0));
}

/// The class of a row with NaN would be an arbitrary one.
void check_no_nan(const Tensor& features) {
  // Bytes are numbers, and are not made floats for this.
  if (features.dtype() == DType::uint8) return;
  const auto values = features.span();
  const auto nan = std::ranges::find_if(values, [](float x) { return std::isnan(x); });
  if (nan == values.end()) return;
  const auto row = static_cast<std::size_t>(nan - values.begin()) / width_of(features);
  throw NumericError(
      fmt::format("predict: expected numbers, found NaN in row {} of the features", row));
}

/// Computes the outputs that classes are read from, with ranges of kernels as they are.
std::vector<Tensor> outputs_for_classes(const Model& model, std::span<const Tensor> inputs) {
  const NoGrad guard;
  // The export's classes are those of its integer softmax; a float model's are those of its logits.
  return is_quantized(model) ? model.forward_all(inputs) : model.forward_all_logits(inputs);
}

/// Runs the model whole where values are wanted of an output that ends in a softmax, which
/// outputs_for_classes() leaves out in float.
void take_probabilities(const Model& model, const Dataset& data, std::span<const Tensor> inputs,
                        std::vector<Tensor>& outputs) {
  const auto are_wanted = [&](std::size_t k) {
    return !data.has_labels(k) && model.layers()[model.output_layers()[k]]->ends_in_softmax();
  };
  bool any = false;
  for (std::size_t k = 0; k < outputs.size(); ++k) any = any || are_wanted(k);
  if (!any || is_quantized(model)) return;
  const NoGrad guard;
  const std::vector<Tensor> whole = model.forward_all(inputs);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (are_wanted(k)) outputs[k] = whole[k];
  }
}

/// The classes that output number `k` of a model in integers says, which it gives itself in int32.
Labels classes_said(const IntegerModel& model, std::size_t k, const Tensor& output) {
  const ModelTensor& tensor = model.tensors[static_cast<std::size_t>(model.outputs[k])];
  if (tensor.dtype != DType::int32) return classes_of(output, decision_threshold(model, k));
  Labels labels(output.span().size());
  std::ranges::transform(output.span(), labels.begin(),
                         [](float value) { return static_cast<std::int32_t>(value); });
  return labels;
}

/// The classes of each output whose targets are labels, the values of the others.
template <class ClassesOf>
std::vector<Targets> predictions_of(const std::vector<Tensor>& outputs, const Dataset& data,
                                    ClassesOf&& labels_of) {
  std::vector<Targets> result;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (data.has_labels(k)) {
      result.emplace_back(labels_of(k, outputs[k]));
    } else {
      result.emplace_back(outputs[k]);
    }
  }
  return result;
}

/// The classes of a model of one output.
Labels predict_rows(const Model& model, std::span<const Tensor> inputs) {
  return classes_of(outputs_for_classes(model, inputs).front(), decision_threshold(model));
}

}  // namespace

namespace detail {

void check_not_empty(const char* function, const Dataset& data) {
  if (!data.empty()) return;
  throw InvalidArgument(
      fmt::format("{}: expected examples, found an empty data set, '{}'", function, data.name()));
}

void each_own_piece(const Dataset& data, const ProcessGroup& group,
                    FunctionRef<void(std::size_t begin, std::size_t end)> add) {
  const std::size_t pieces = (data.size() + kRowsPerPass - 1) / kRowsPerPass;
  const IndexRange own = part_of(pieces, static_cast<std::size_t>(group.size()),
                                 static_cast<std::size_t>(group.rank()));
  for (std::size_t i = own.begin; i < own.end; ++i) {
    add(i * kRowsPerPass, std::min(data.size(), (i + 1) * kRowsPerPass));
  }
}

void check_outputs(const char* function, const Dataset& data, std::size_t outputs) {
  if (data.outputs() == outputs) return;
  throw InvalidArgument(fmt::format(
      "{}: expected targets for each of the {} outputs of the model, found a data set '{}' with "
      "targets for {}; see Dataset::from_tensors()",
      function, outputs, data.name(), data.outputs()));
}

void check_one_output(const char* function, std::size_t outputs, const char* instead) {
  if (outputs == 1) return;
  throw InvalidArgument(fmt::format("{}: expected a model of one output, found one of {}; use {}",
                                    function, outputs, instead));
}

std::vector<Tensor> real_outputs(Interpreter& interpreter, const Batch& batch) {
  const std::vector<std::vector<float>> results = detail::run_all(interpreter, batch.inputs());
  std::vector<Tensor> outputs;
  for (std::size_t k = 0; k < results.size(); ++k) {
    outputs.push_back(shaped_output(interpreter.model(), k, batch.features.dim(0), results[k]));
  }
  return outputs;
}

std::vector<std::vector<float>> run_all(Interpreter& interpreter, std::span<const Tensor> inputs) {
  std::vector<std::span<const float>> values;
  values.reserve(inputs.size());
  for (const Tensor& input : inputs) values.push_back(input.span());
  return interpreter.run_all(values);
}

}  // namespace detail

double OutputEvaluation::score() const {
  if (classes) return classes->accuracy;
  if (mean_absolute_error) return *mean_absolute_error;
  throw InvalidArgument(
      "evaluate_outputs: expected targets that are class labels, or tensors of the output's size, "
      "found tensors of another size; does the data set belong to another model?");
}

Labels predict(const Model& model, const Tensor& features) {
  if (!features.defined()) {
    throw InvalidArgument("predict: expected features, found an undefined tensor");
  }
  check_no_nan(features);
  check_one_output("predict", model.output_layers().size(), "evaluate_outputs()");
  const Tensor input = fit_to_input(model, features);
  return predict_rows(WithCurrentKernelRanges(model).model(), {&input, 1});
}

Evaluation evaluate(const Model& model, const Dataset& data, ProcessGroup* group) {
  check_one_output("evaluate", model.output_layers().size(), "evaluate_outputs()");
  const WithCurrentKernelRanges current(model);
  return evaluate_one_output(data, group_or_alone(group),
                             [&](std::size_t, std::size_t, const Batch& batch) {
                               return predict_rows(current.model(), fit_to_inputs(model, batch));
                             });
}

std::vector<OutputEvaluation> evaluate_outputs(const Model& model, const Dataset& data,
                                               ProcessGroup* group) {
  check_outputs("evaluate_outputs", data, model.output_layers().size());
  const WithCurrentKernelRanges current(model);
  const auto predict = [&](std::size_t, std::size_t, const Batch& batch) {
    const std::vector<Tensor> inputs = fit_to_inputs(model, batch);
    std::vector<Tensor> outputs = outputs_for_classes(current.model(), inputs);
    take_probabilities(current.model(), data, inputs, outputs);
    return predictions_of(outputs, data, [&](std::size_t k, const Tensor& output) {
      return classes_of(output, decision_threshold(model, k));
    });
  };
  return evaluate_in_pieces(data, group_or_alone(group), predict);
}

std::vector<OutputEvaluation> evaluate_outputs(const IntegerModel& model, const Dataset& data,
                                               ProcessGroup* group) {
  Interpreter interpreter(model, {.batch = kInterpreterBatch});
  return evaluate_outputs(interpreter, data, group);
}

std::vector<OutputEvaluation> evaluate_outputs(Interpreter& interpreter, const Dataset& data,
                                               ProcessGroup* group) {
  const IntegerModel& model = interpreter.model();
  check_outputs("evaluate_outputs", data, model.outputs.size());
  const auto predict = [&](std::size_t, std::size_t, const Batch& batch) {
    return predictions_of(
        real_outputs(interpreter, batch), data,
        [&](std::size_t k, const Tensor& output) { return classes_said(model, k, output); });
  };
  return evaluate_in_pieces(data, group_or_alone(group), predict);
}

std::size_t count_differing_outputs(const Model& simulated, const IntegerModel& integers,
                                    const Dataset& data, ProcessGroup* group) {
  const WithCurrentKernelRanges current(simulated);
  const NoGrad guard;
  Interpreter interpreter(integers, {.batch = kInterpreterBatch});
  std::size_t differing = 0;
  each_own_piece(data, group_or_alone(group), [&](std::size_t begin, std::size_t end) {
    const Batch batch = data.batch(begin, end);
    const std::vector<Tensor> expected =
        current.model().forward_all(fit_to_inputs(simulated, batch));
    const std::vector<Tensor> found = real_outputs(interpreter, batch);
    if (!std::ranges::equal(expected, found, {}, &Tensor::shape, &Tensor::shape)) {
      throw InvalidArgument(
          fmt::format("count_differing_outputs: expected integers with the {} outputs of model "
                      "\"{}\", found {} "
                      "of other shapes; were they lowered from another model?",
                      expected.size(), simulated.name(), found.size()));
    }
    for (std::size_t row = 0; row < end - begin; ++row) {
      const auto differs = [&](std::size_t k) {
        const std::size_t width = width_of(found[k]);
        return !std::ranges::equal(expected[k].span().subspan(row * width, width),
                                   found[k].span().subspan(row * width, width));
      };
      bool any = false;
      for (std::size_t k = 0; k < found.size(); ++k) any = any || differs(k);
      differing += any ? 1U : 0U;
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
  check_one_output("evaluate", interpreter.model().outputs.size(), "evaluate_outputs()");
  const auto predict = [&](std::size_t, std::size_t, const Batch& batch) -> Labels {
    if (data.inputs() > 1) {
      return classes_said(interpreter.model(), 0, real_outputs(interpreter, batch).front());
    }
    const detail::StoredIntegers pixels = detail::TensorAccess::integers(batch.features);
    const auto* bytes = pixels.as<std::uint8_t>();
    if (bytes == nullptr) return interpreter.predict(batch.features.span());
    return interpreter.predict_bytes({bytes, static_cast<std::size_t>(batch.features.size())});
  };
  return evaluate_one_output(data, group_or_alone(group), predict);
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
