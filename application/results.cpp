#include "results.h"

#include <fmt/format.h>
#include <octet/core/json_text.h>
#include <octet/core/printable.h>
#include <octet/core/text.h>
#include <octet/report/run_facts.h>
#include <octet/train/data/skipped_examples.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <utility>

#include "data.h"
#include "flash.h"

namespace octet::application {
namespace {

/// Bytes of an output's name in the table.
constexpr std::size_t kMostOfName = 60;

std::string seconds_of(const History& history, const std::string& phase) {
  double total = 0.0;
  for (const EpochRecord& record : history) total += record.phase == phase ? record.seconds : 0.0;
  return fmt::format("{:.2f}", total);
}

std::string row(const std::string& name, const std::string& in_float, const std::string& simulated,
                const std::string& integer) {
  return fmt::format("{:<22} {:>14} {:>14} {:>14}\n", name, in_float, simulated, integer);
}

std::string details_line(const char* role, const TensorDetails& details) {
  return fmt::format("{}: name {}, index {}, shape [{}], dtype {}, quantization ({}, {})\n", role,
                     details.name, details.index, fmt::join(details.shape, ", "),
                     to_string(details.dtype), static_cast<double>(details.quantization.first),
                     details.quantization.second);
}

/// The share of each layer's weights that swing between codes, and that of the frozen.
std::string oscillation_table(const std::vector<OscillatingWeights>& layers) {
  if (layers.empty()) return "";
  std::string text = fmt::format("\n{:<22} {:>14} {:>14}\n", "weights", "oscillating", "frozen");
  for (const OscillatingWeights& one : layers) {
    text += fmt::format("{:<22} {:>14} {:>14}\n", one.layer, percent_text(one.share),
                        percent_text(one.frozen));
  }
  return text;
}

/// A line that names the worst layer; empty where nothing was measured.
std::string largest_angle_text(const std::vector<GradientAngle>& angles) {
  double largest = -1.0;
  std::string text;
  const auto take = [&](const GradientAngle& one, const char* product,
                        const std::optional<double>& degrees) {
    if (!degrees || *degrees <= largest) return;
    largest = *degrees;
    text = fmt::format(
        "largest angle between an int8 and a float gradient: {:.2f} degrees, {} of {} at step {}\n",
        largest, product, one.layer, one.step);
  };
  for (const GradientAngle& one : angles) {
    take(one, "kernel", one.kernel);
    take(one, "input", one.input);
  }
  return text;
}

/// The number that is written as `value` is: JSON has doubles, in which 1e-4 as a float
/// is 9.9999997e-05.
double as_written(float value) { return std::stod(fmt::format("{}", value)); }

std::vector<double> as_written(const std::vector<float>& values) {
  std::vector<double> result;
  result.reserve(values.size());
  for (const float value : values) result.push_back(as_written(value));
  return result;
}

/// "--input-calibration" is "input_calibration" in metrics.json.
std::string metric_name(std::string_view option) {
  std::string name(option.substr(2));
  std::ranges::replace(name, '-', '_');
  return name;
}

bool is_one_accuracy(const std::vector<OutputScores>& outputs) {
  return outputs.size() == 1 && outputs.front().is_accuracy;
}

/// Adds the scores of one output to a JSON object.
void add_scores(nlohmann::json& json, const OutputScores& output) {
  const std::string what = output.is_accuracy ? "accuracy" : "mean_absolute_error";
  json["float_" + what] = output.in_float;
  json["simulated_" + what] = output.simulated;
  json["integer_" + what] = output.integer;
  if (output.calibrated) json["calibrated_integer_" + what] = *output.calibrated;
  if (output.control) json["control_" + what] = *output.control;
  for (const TaskScore& score : output.scores) {
    json["scores"][score.name] = {{"float", score.in_float}, {"integer", score.integer}};
  }
  if (output.baseline) {
    const Baseline& one = *output.baseline;
    json["baseline"] = {{"guess", one.guess},
                        {"score", one.score},
                        {"guessed", one.guessed},
                        {"integer", one.integer},
                        {"least_gain", one.least_gain}};
  }
}

/// Adds the numbers of a single output beside everything else, those of several in a list.
void add_scores(nlohmann::json& metrics, const Options& options,
                const std::vector<OutputScores>& outputs) {
  if (outputs.size() == 1) add_scores(metrics, outputs.front());
  if (is_one_accuracy(outputs)) {
    metrics["acc"] = options.qat_epochs > 0 || options.only_quantizes ? outputs.front().integer
                                                                      : outputs.front().in_float;
  }
  for (std::size_t k = 0; outputs.size() > 1 && k < outputs.size(); ++k) {
    metrics["outputs"].push_back({{"name", outputs[k].name}});
    add_scores(metrics["outputs"].back(), outputs[k]);
  }
}

/// The rows of the table that are about one output.
std::string score_rows(const Options& options, const OutputScores& output, bool is_only) {
  const auto text_of = [&](double score) {
    return output.is_accuracy ? percent_text(score) : fmt::format("{:.6g}", score);
  };
  const std::string of_output = is_only ? "" : printable(output.name, kMostOfName) + ": ";
  const std::string what = output.is_accuracy ? "accuracy" : "mean absolute error";
  std::string text =
      row(is_only && output.is_accuracy ? "test accuracy" : of_output + what,
          text_of(output.in_float), text_of(output.simulated), text_of(output.integer));
  if (options.only_quantizes && options.qat_epochs > 0 && output.calibrated) {
    text += row(of_output + "calibrated alone", "", "", text_of(*output.calibrated));
  }
  if (output.control) text += row(of_output + "float control", text_of(*output.control), "", "");
  for (const TaskScore& score : output.scores) {
    text += row(of_output + score.name, fmt::format("{:.6g}", score.in_float), "",
                fmt::format("{:.6g}", score.integer));
  }
  return text;
}

}  // namespace

std::string metrics_json(const Options& options, const Results& r) {
  nlohmann::json metrics = {{"version", OCTET_VERSION},
                            {"seed", options.seed},
                            {"batch", options.batch},
                            {"per_channel", options.quantize.per_channel},
                            {"weight_bits", options.quantize.weight_bits},
                            {"full_grid", options.quantize.full_weight_grid},
                            {"activation_bits", options.quantize.activation_bits},
                            {"scales", to_string(options.quantize.weight_scales)},
                            {"tfmot_ranges", options.tfmot_ranges},
                            {"rounding", to_string(options.quantize.rounding)},
                            {"qat_schedule", options.qat_rate_falls ? "cosine" : "constant"},
                            {"simulation", to_string(options.quantize.simulation)},
                            {"differing_predictions", r.differing_predictions},
                            {"float_bytes", r.float_bytes},
                            {"int8_bytes", r.int8_bytes},
                            {"warnings", r.warnings},
                            {"options", deciding_options(options)}};
  add_scores(metrics, options, r.outputs);
  if (options.shift > 0) metrics["shift"] = options.shift;
  if (options.augmentation != Augmentation{}) {
    metrics["augment"] = to_text(options.augmentation);
  }
  if (!options.class_weights.empty()) metrics["class_weights"] = options.class_weights;
  if (options.patience > 0) metrics["patience"] = options.patience;
  if (options.plateau > 0) metrics["plateau"] = options.plateau;
  if (options.average_weights > 0.0F)
    metrics["average_weights"] = as_written(options.average_weights);
  if (options.fine_tunes) metrics["fine_tuned"] = true;
  if (!options.frozen.empty()) metrics["frozen"] = options.frozen;
  if (options.file.empty()) {
    metrics["network"] = options.network;
  } else {
    metrics["file"] = options.file;
  }
  if (options.only_quantizes) metrics["lr"] = as_written(options.qat_lr);
  if (options.calibrate) metrics["calibrate"] = *options.calibrate;
  if (!r.normalization.mean.empty()) metrics["mean"] = as_written(r.normalization.mean);
  if (!r.normalization.deviation.empty()) metrics["std"] = as_written(r.normalization.deviation);
  for (const auto& [option, value] : range_options(options)) metrics[metric_name(option)] = value;
  if (options.file.empty() && options.network == kMlp) {
    metrics["hidden"] = options.hidden;
    metrics["batch_norm"] = options.batch_norm;
    metrics["dropout"] = options.dropout;
    metrics["input_dropout"] = options.input_dropout;
  }
  for (const auto& [key, name] :
       {std::pair{kClassesKey, "classes"}, std::pair{kNormalClassesKey, "normal_classes"},
        std::pair{kDataKey, "examples"}}) {
    const auto entry = r.example_metadata.find(key);
    if (entry != r.example_metadata.end()) metrics[name] = nlohmann::json::parse(entry->second);
  }
  if (r.anomaly_threshold) metrics["anomaly_threshold"] = as_written(*r.anomaly_threshold);
  if (!r.skipped.empty()) {
    metrics["skipped_examples"] = r.skipped.size();
    metrics["skipped"] = std::vector(
        r.skipped.begin(), r.skipped.begin() + static_cast<std::ptrdiff_t>(
                                                   std::min(r.skipped.size(), kMostSkippedNamed)));
  }
  if (r.c_flash_bytes) metrics["c_flash_bytes"] = *r.c_flash_bytes;
  if (r.c_ram_bytes) metrics["c_ram_bytes"] = *r.c_ram_bytes;
  // A run that was resumed knows none of these of before: metrics are otherwise the same.
  if (const std::vector<GradientAngle> angles = r.gradient_angles.angles(); !angles.empty()) {
    metrics["gradient_angles"] = nlohmann::json::parse(gradient_angles_json(angles));
  }
  if (options.only_quantizes || !options.report.empty()) {
    metrics["ranges"] = nlohmann::json::parse(ranges_json(r.ranges));
    metrics["oscillations"] = nlohmann::json::parse(oscillations_json(r.oscillation_log));
    metrics["command"] = options.command;
  }
  for (const OscillatingWeights& one : r.oscillations) {
    metrics["oscillating_weights"][one.layer] = {{"share", one.share}, {"frozen", one.frozen}};
  }
  if (options.flash) metrics["flash"] = *options.flash;
  if (options.max_drop) metrics["max_drop"] = *options.max_drop;
  if (!r.flash.empty()) metrics["shipped_bytes"] = bytes_of(r.flash);
  for (const LayerFlash& layer : r.flash) metrics["bits"][layer.layer] = layer.bits;
  for (const LayerDifference& layer : r.layer_differences.layers) {
    metrics["layer_differences"].push_back({{"name", layer.name},
                                            {"compared", layer.compared},
                                            {"differing", layer.differing},
                                            {"largest", layer.largest},
                                            {"mean", layer.mean()}});
  }
  // A command line may hold bytes that are no UTF-8.
  return octet::detail::lenient_json_text(metrics);
}

std::string with_verdict(const std::string& metrics, const Verdict& verdict, int indent) {
  nlohmann::json all = nlohmann::json::parse(metrics);
  all["verdict"] = to_string(verdict.decision);
  return all.dump(indent) + "\n";
}

std::string final_report(const Application& application, const Options& options, const Results& r,
                         const History& history, const RunReport& report) {
  const LayerDifference layers = r.layer_differences.total();
  const std::string stem = (options.out / (application.stem + "_int8")).string();
  const Interpreter interpreter(read_tflite(stem + ".tflite"));
  std::string text = "\n";
  text += row("", "float", "simulated", "integer");
  for (const OutputScores& output : r.outputs) {
    text += score_rows(options, output, r.outputs.size() == 1);
  }
  if (r.anomaly_threshold) {
    text += row(fmt::format("threshold, {} %", kAnomalyPercentile), "", "",
                fmt::format("{:.6g}", *r.anomaly_threshold));
  }
  text += row("model bytes", std::to_string(r.float_bytes), "", std::to_string(r.int8_bytes));
  text += row("training seconds", seconds_of(history, "float"), seconds_of(history, "qat"), "");
  const bool one_accuracy = is_one_accuracy(r.outputs);
  text += fmt::format("layer outputs that differ: {} of {} over {} examples\n", layers.differing,
                      layers.compared, r.layer_differences.samples);
  text += fmt::format(
      "{}: {} of {}\n"
      "{} thread{}, rounding {}\n\n{}.tflite\n",
      one_accuracy
          ? "test examples that the simulation and the exported integers class differently"
          : "test examples in which outputs of the simulation and the exported integers differ",
      r.differing_predictions, r.layer_differences.samples, num_threads(),
      num_threads() == 1 ? "" : "s", to_string(options.quantize.rounding), stem);
  for (const auto& input : interpreter.get_input_details()) text += details_line("input ", input);
  for (const auto& output : interpreter.get_output_details()) {
    text += details_line("output", output);
  }
  if (r.has_onnx) text += fmt::format("{}.onnx\n", stem);
  if (r.c_flash_bytes && r.c_ram_bytes) {
    text += fmt::format("{0}.h, {0}.c\nC source: {1} bytes of constants, {2} bytes of buffers\n",
                        stem, *r.c_flash_bytes, *r.c_ram_bytes);
  }
  if (!r.flash.empty()) text += flash_table(options, r.flash);
  if (options.flash) {
    text += fmt::format(
        "the budget counts weights, biases and scales as C source holds them; the .tflite file "
        "takes {} bytes\n",
        r.int8_bytes);
  }
  text += oscillation_table(r.oscillations);
  text += largest_angle_text(r.gradient_angles.angles());
  for (const std::string& warning : r.warnings) text += fmt::format("warning: {}\n", warning);
  text += fmt::format("\nSHA-256\n{}  {}\n{}  history.csv without times\n", report.hashes.model,
                      application.int8_file(), report.hashes.history);
  if (!report.hashes.checkpoint.empty()) {
    text += fmt::format("{}  last.ckpt without times\n", report.hashes.checkpoint);
  }
  for (const auto& [phase, profile, exchange] :
       {std::tuple{"float", &r.float_profile, &r.float_exchange},
        std::tuple{"quantized", &r.qat_profile, &r.qat_exchange}}) {
    if (profile->steps() == 0) continue;
    text += fmt::format("\n{} training\n{}", phase, profile->table());
    if (!exchange->empty()) text += fmt::format("\n{}", *exchange);
  }
  return text;
}

}  // namespace octet::application
