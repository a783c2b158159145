#include "results.h"

#include <fmt/format.h>
#include <octet/core/text.h>
#include <octet/report/run_facts.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>

#include "flash.h"

namespace octet::application {
namespace {

std::string seconds_of(const History& history, const std::string& phase) {
  double total = 0.0;
  for (const EpochRecord& record : history) total += record.phase == phase ? record.seconds : 0.0;
  return fmt::format("{:.2f}", total);
}

std::string row(const char* name, const std::string& in_float, const std::string& simulated,
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

}  // namespace

std::string metrics_json(const Options& options, const Results& r) {
  nlohmann::json metrics = {
      {"version", OCTET_VERSION},
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
      {"float_accuracy", r.float_accuracy},
      {"simulated_accuracy", r.simulated_accuracy},
      {"integer_accuracy", r.integer_accuracy},
      {"differing_predictions", r.differing_predictions},
      {"float_bytes", r.float_bytes},
      {"int8_bytes", r.int8_bytes},
      {"warnings", r.warnings},
      {"acc",
       options.qat_epochs > 0 || options.only_quantizes ? r.integer_accuracy : r.float_accuracy}};
  if (options.shift > 0) metrics["shift"] = options.shift;
  if (options.file.empty()) {
    metrics["network"] = options.network;
  } else {
    metrics["file"] = options.file;
  }
  if (options.only_quantizes) metrics["lr"] = as_written(options.qat_lr);
  if (options.calibrate) metrics["calibrate"] = *options.calibrate;
  if (!options.mean.empty()) metrics["mean"] = as_written(options.mean);
  if (!options.deviation.empty()) metrics["std"] = as_written(options.deviation);
  for (const auto& [option, value] : range_options(options)) metrics[metric_name(option)] = value;
  if (options.file.empty() && options.network == kMlp) {
    metrics["hidden"] = options.hidden;
    metrics["batch_norm"] = options.batch_norm;
    metrics["dropout"] = options.dropout;
    metrics["input_dropout"] = options.input_dropout;
  }
  if (r.calibrated_integer_accuracy) {
    metrics["calibrated_integer_accuracy"] = *r.calibrated_integer_accuracy;
  }
  if (r.c_flash_bytes) metrics["c_flash_bytes"] = *r.c_flash_bytes;
  if (r.c_ram_bytes) metrics["c_ram_bytes"] = *r.c_ram_bytes;
  // A run that was resumed knows neither of before: metrics are otherwise the same.
  if (options.only_quantizes || !options.report.empty()) {
    metrics["ranges"] = nlohmann::json::parse(ranges_json(r.ranges));
    metrics["oscillations"] = nlohmann::json::parse(oscillations_json(r.oscillation_log));
    metrics["command"] = options.command;
  }
  for (const OscillatingWeights& one : r.oscillations) {
    metrics["oscillating_weights"][one.layer] = {{"share", one.share}, {"frozen", one.frozen}};
  }
  if (r.control_accuracy) metrics["control_accuracy"] = *r.control_accuracy;
  if (options.flash) metrics["flash"] = *options.flash;
  if (options.max_drop) metrics["max_drop"] = *options.max_drop;
  if (searches_bits(options)) metrics["shipped_bytes"] = bytes_of(r.flash);
  for (const LayerFlash& layer : r.flash) metrics["bits"][layer.layer] = layer.bits;
  for (const LayerDifference& layer : r.layer_differences.layers) {
    metrics["layer_differences"].push_back({{"name", layer.name},
                                            {"compared", layer.compared},
                                            {"differing", layer.differing},
                                            {"largest", layer.largest},
                                            {"mean", layer.mean()}});
  }
  // A command line may hold bytes that are no UTF-8.
  return metrics.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string final_report(const Program& program, const Options& options, const Results& r,
                         const History& history, const RunReport& report) {
  const LayerDifference layers = r.layer_differences.total();
  const std::string stem = (options.out / (program.stem + "_int8")).string();
  const Interpreter interpreter(read_tflite(stem + ".tflite"));
  std::string text = "\n";
  text += row("", "float", "simulated", "integer");
  text += row("test accuracy", percent_text(r.float_accuracy), percent_text(r.simulated_accuracy),
              percent_text(r.integer_accuracy));
  if (options.only_quantizes && options.qat_epochs > 0 && r.calibrated_integer_accuracy) {
    text += row("calibrated alone", "", "", percent_text(*r.calibrated_integer_accuracy));
  }
  if (r.control_accuracy) text += row("float control", percent_text(*r.control_accuracy), "", "");
  text += row("model bytes", std::to_string(r.float_bytes), "", std::to_string(r.int8_bytes));
  text += row("training seconds", seconds_of(history, "float"), seconds_of(history, "qat"), "");
  text += fmt::format("layer outputs that differ: {} of {} over {} images\n", layers.differing,
                      layers.compared, r.layer_differences.samples);
  text += fmt::format(
      "test images that the simulation and the exported integers class differently: {} of {}\n"
      "{:.1f} s in all, {} thread{}, rounding {}\n\n{}.tflite\n",
      r.differing_predictions, r.layer_differences.samples, report.seconds, num_threads(),
      num_threads() == 1 ? "" : "s", to_string(options.quantize.rounding), stem);
  for (const auto& input : interpreter.get_input_details()) text += details_line("input ", input);
  for (const auto& output : interpreter.get_output_details()) {
    text += details_line("output", output);
  }
  if (writes_onnx(program, options)) text += fmt::format("{}.onnx\n", stem);
  if (r.c_flash_bytes && r.c_ram_bytes) {
    text += fmt::format("{0}.h, {0}.c\nC source: {1} bytes of constants, {2} bytes of buffers\n",
                        stem, *r.c_flash_bytes, *r.c_ram_bytes);
  }
  if (searches_bits(options)) text += flash_table(options, r.flash);
  if (options.flash) {
    text += fmt::format(
        "the budget counts weights, biases and scales as C source holds them; the .tflite file "
        "takes {} bytes\n",
        r.int8_bytes);
  }
  text += oscillation_table(r.oscillations);
  for (const std::string& warning : r.warnings) text += fmt::format("warning: {}\n", warning);
  text += fmt::format("\nSHA-256\n{}  {}\n{}  history.csv without times\n", report.hashes.model,
                      program.int8_file(), report.hashes.history);
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
