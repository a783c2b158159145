#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/quant/target.h>
#include <octet/deploy/runtime_warnings.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/calibration_internal.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/report/advice.h>
#include <octet/report/measure.h>
#include <octet/report/measure_internal.h>
#include <octet/runtime/interpreter.h>
#include <octet/runtime/operator_cost.h>
#include <octet/train/data/fingerprint.h>
#include <octet/train/evaluate.h>

#include <algorithm>

namespace octet {
namespace {

/// A version of the network, and what it came to at every output.
struct ScoredNetwork {
  std::string name;
  std::vector<OutputEvaluation> outputs;
};

/// `in_float` is the evaluation of the float network; null for that one itself.
Outcome outcome_of(std::string name, const OutputEvaluation& found, const Targets& targets,
                   const OutputEvaluation* in_float) {
  Outcome result;
  result.name = std::move(name);
  if (!found.classes) {
    result.mean_absolute_error = found.score();
    return result;
  }
  const Labels& predictions = found.classes->predictions;
  const Labels& labels = targets.labels();
  std::uint64_t right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) right += predictions[i] == labels[i] ? 1U : 0U;
  result.accuracy = wilson_interval(right, labels.size());
  if (in_float != nullptr) {
    result.against_float = mcnemar_test(in_float->classes->predictions, predictions, labels);
  }
  return result;
}

/// Adds the outcomes of all networks, the float one first and the integers that ship last, output
/// by output; and what the integers have over a guess, where targets are labels.
void add_outcomes(const std::vector<ScoredNetwork>& networks, const Dataset& test,
                  const IntegerModel& shipped, Report& report) {
  const std::vector<Targets> targets = test.outputs() == 1
                                           ? std::vector{test.targets(0, test.size())}
                                           : test.batch(0, test.size()).all_targets();
  for (std::size_t k = 0; k < targets.size(); ++k) {
    const std::string output =
        targets.size() == 1 ? ""
                            : shipped.tensors[static_cast<std::size_t>(shipped.outputs[k])].name;
    for (const ScoredNetwork& one : networks) {
      const bool is_float = &one == &networks.front();
      report.outcomes.push_back(outcome_of(one.name, one.outputs[k], targets[k],
                                           is_float ? nullptr : &networks.front().outputs[k]));
      report.outcomes.back().output = output;
    }
    const auto& classes = networks.back().outputs[k].classes;
    if (!classes) continue;
    Baseline baseline = commonest_class(classes->predictions, targets[k].labels());
    baseline.output = output;
    report.baselines.push_back(std::move(baseline));
  }
}

std::vector<std::string> targets_of(Rounding rounding) {
  std::vector<std::string> result = {"C source (portable C99)"};
  const auto name = [](Target target) {
    switch (target) {
      case Target::litert:
        return "LiteRT (XNNPACK)";
      case Target::tflm:
        return "TensorFlow Lite Micro";
      case Target::cmsis_nn:
        return "CMSIS-NN";
      case Target::onnxruntime:
        return "ONNX Runtime";
    }
    throw InvalidArgument("measure_report: a Target outside the enumeration");
  };
  for (const Target target : kTargets) {
    if (contract_of(target) == rounding) result.emplace_back(name(target));
  }
  if (rounding == Rounding::single_rounding) {
    result.emplace_back("LiteRT's built-in kernels on Arm and in plain C++");
  }
  if (rounding == Rounding::q15) {
    result = {"LiteRT's built-in kernels", "TensorFlow Lite Micro", "CMSIS-NN"};
  }
  return result;
}

Costs costs_of(const ReportModels& models) {
  const Interpreter interpreter(models.shipped);
  return {.float_bytes = to_tflite(models.in_float).size(),
          .integer_bytes = to_tflite(models.shipped).size(),
          .arena_bytes = interpreter.arena_bytes(),
          .multiply_adds = model_cost(models.shipped).multiply_adds};
}

void check_test(const Dataset& test) {
  if (test.empty()) throw InvalidArgument("measure_report: expected test examples, found none");
  if (test.labels_are_read()) {
    throw InvalidArgument(
        fmt::format("measure_report: expected test examples whose targets are known before they "
                    "are read, found "
                    "\"{}\", a set with a reader",
                    test.name()));
  }
}

/// Whether the model has one output, whose targets are labels.
bool has_one_accuracy(const Dataset& test) { return test.outputs() == 1 && test.has_labels(); }

std::vector<Tensor> calibration_of(const ReportModels& models, const Dataset& train,
                                   const ReportOptions& options) {
  return fit_to_inputs(*models.float_model,
                       train.batch(0, std::min(options.calibration_samples, train.size())));
}

void measure_layer_report(const ReportModels& models, const Dataset& train, const Dataset& test,
                          const ReportOptions& options, bool trained, Report& report) {
  if (models.quantized == nullptr) {
    report.missing.emplace_back(
        "Layers: the quantized model is not there, the integers alone do not tell.");
    return;
  }
  report.layers.samples = std::min(options.layer_samples, test.size());
  report.layers.layers = detail::measure_layers(*models.quantized, test, report.layers.samples);
  if (!has_one_accuracy(test)) {
    report.missing.emplace_back(
        "Sensitivity of layers and remedies: they go by the accuracy of a single output.");
    return;
  }
  if (models.float_model == nullptr || train.empty() || options.sensitivity_samples == 0) {
    report.missing.emplace_back(
        "Sensitivity of layers: it takes the trained float model and training examples.");
    return;
  }
  const auto is_annotated = [](const auto& layer) { return layer->annotation() != nullptr; };
  if (std::ranges::any_of(models.float_model->layers(), is_annotated)) {
    report.missing.emplace_back(
        "Sensitivity of layers: a QuantizeConfig says how one is quantized, so that it cannot be "
        "left in float.");
    return;
  }
  const std::vector<Tensor> calibration = calibration_of(models, train, options);
  const Dataset samples = test.head(options.sensitivity_samples);
  ProcessGroup& ranks = group_or_alone(options.group);
  detail::measure_sensitivity(models, calibration, samples, ranks, report.layers);
  // What ships untrained has one accuracy, that of the very file.
  if (!trained) {
    report.layers.quantized_accuracy = evaluate(models.shipped, samples, &ranks).accuracy;
  }
  if (!loses_significantly(report)) return;
  if (!train.has_labels() || train.labels_are_read()) {
    report.missing.emplace_back(
        "Remedies: none was tried, which takes training examples with class labels.");
  } else {
    const std::size_t count = std::min(options.sensitivity_samples, train.size());
    detail::try_remedies(models, calibration, train.slice(train.size() - count, train.size()),
                         ranks, report.layers);
  }
}

}  // namespace

namespace detail {

QuantizeOptions options_of(const Model& quantized) {
  for (const auto& layer : quantized.layers()) {
    const auto* input = dynamic_cast<const QuantizeLayer*>(layer.get());
    if (input != nullptr) return input->options();
  }
  throw InvalidArgument(fmt::format(
      "measure_report: expected a quantized model, found \"{}\" without a QuantizeLayer",
      quantized.name()));
}

Model quantize_quietly(const Model& model, std::span<const Tensor> calibration,
                       const QuantizeOptions& options) {
  Model result = quantize_model(model, options);
  show_samples(result, calibration);
  return result;
}

bool is_trained(const Model& quantized, const Model& model) {
  QuantizeOptions options = options_of(quantized);
  // Calibration moves learned scales too.
  options.weight_scales = options.activation_scales = Scales::measured;
  const std::vector<NamedTensor> now = quantized.parameters();
  const std::vector<NamedTensor> before = quantize_model(model, options).parameters();
  return !std::ranges::all_of(before, [&](const NamedTensor& one) {
    const auto found = std::ranges::find(now, one.name, &NamedTensor::name);
    return found != now.end() && std::ranges::equal(found->tensor.span(), one.tensor.span());
  });
}

}  // namespace detail

Report measure_report(const ReportModels& models, const Dataset& train, const Dataset& test,
                      const ReportOptions& options) {
  check_test(test);
  Report report;
  report.data = fmt::format("{}, {} test examples", test.name(), test.size());
  report.class_names = test.class_names();
  report.scored_on_training =
      train.size() == test.size() && fingerprint(train) == fingerprint(test);
  std::vector<ScoredNetwork> networks = {
      {"float", evaluate_outputs(models.in_float, test, options.group)}};
  const bool knows_both = models.float_model != nullptr && models.quantized != nullptr;
  const bool trained = !knows_both || detail::is_trained(*models.quantized, *models.float_model);
  if (knows_both && trained && !train.empty()) {
    const Model post =
        detail::quantize_quietly(*models.float_model, calibration_of(models, train, options),
                                 detail::options_of(*models.quantized));
    networks.push_back(
        {"quantized after training", evaluate_outputs(lower(post), test, options.group)});
  }
  const std::string name = !options.shipped_name.empty() ? options.shipped_name
                           : trained                     ? "trained with quantization"
                                                         : "calibrated";
  networks.push_back({name, evaluate_outputs(models.shipped, test, options.group)});
  add_outcomes(networks, test, models.shipped, report);
  report.costs = costs_of(models);
  IntegerModel pruned = models.shipped;
  report.constant_units = prune_constant_units(pruned);
  const Rounding rounding = rounding_of(models.shipped);
  report.contract = to_string(rounding);
  report.targets = targets_of(rounding);
  report.warnings = runtime_warnings(models.shipped);
  measure_layer_report(models, train, test, options, trained, report);
  if (!has_one_accuracy(test)) {
    report.missing.emplace_back(
        "Confused classes and examples that changed class: they are of a single output.");
    return report;
  }
  detail::measure_classes(models, test,
                          {networks.front().outputs.front().classes->predictions,
                           networks.back().outputs.front().classes->predictions},
                          options, report);
  return report;
}

}  // namespace octet
