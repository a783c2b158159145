#include "report.h"

#include <fmt/format.h>
#include <octet/core/kernels/isa.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/runtime/interpreter.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace octet::mnist {
namespace {

using nlohmann::json;

std::string percent(double share) { return fmt::format("{:.2f} %", 100.0 * share); }

double phase_seconds(const History& history, const std::string& phase) {
  double total = 0.0;
  for (const EpochRecord& record : history) total += record.phase == phase ? record.seconds : 0.0;
  return total;
}

json to_json(const LayerDifference& layer) {
  return {{"name", layer.name},
          {"compared", layer.compared},
          {"differing", layer.differing},
          {"largest", layer.largest},
          {"mean", layer.mean()}};
}

std::string details_line(const char* role, const TensorDetails& details) {
  std::string shape;
  for (const auto extent : details.shape)
    shape += fmt::format("{}{}", shape.empty() ? "" : ", ", extent);
  return fmt::format("{}: name {}, index {}, shape [{}], dtype {}, quantization ({}, {})\n", role,
                     details.name, details.index, shape, to_string(details.dtype),
                     static_cast<double>(details.quantization.first), details.quantization.second);
}

/// What each hash is of, in words.
std::vector<std::pair<std::string, std::string>> named_hashes(const Hashes& hashes) {
  std::vector<std::pair<std::string, std::string>> named = {
      {"mnist_int8.tflite", hashes.model}, {"history.csv without times", hashes.history}};
  if (!hashes.checkpoint.empty()) {
    named.emplace_back("last.ckpt without times", hashes.checkpoint);
  }
  return named;
}

}  // namespace

std::string final_report(const Options& options, const Results& r) {
  std::string text = "\n";
  const auto row = [&text](const std::string& name, const std::string& a, const std::string& b,
                           const std::string& c) {
    text += fmt::format("{:<22} {:>14} {:>14} {:>14}\n", name, a, b, c);
  };
  row("", "float", "simulated", "integer");
  row("test accuracy", percent(r.float_accuracy), percent(r.simulated_accuracy),
      percent(r.integer_accuracy));
  row("model bytes", fmt::format("{}", r.float_bytes), "", fmt::format("{}", r.int8_bytes));
  row("training seconds", fmt::format("{:.2f}", phase_seconds(r.history, "float")),
      fmt::format("{:.2f}", phase_seconds(r.history, "qat")), "");
  const LayerDifference layers = r.layer_differences.total();
  text += fmt::format("layer outputs that differ: {} of {} over {} images\n", layers.differing,
                      layers.compared, r.layer_differences.samples);
  text += fmt::format(
      "test images that the simulation and the exported integers class differently: {} of {}\n"
      "{:.1f} s in all, {} thread{}, rounding {}\n\n",
      r.differing_predictions, r.test_count, r.seconds, r.threads, r.threads == 1 ? "" : "s",
      to_string(options.rounding));
  const Interpreter interpreter(read_tflite(int8_path(options)));
  text += fmt::format("{}\n", int8_path(options).string());
  for (const auto& details : interpreter.get_input_details())
    text += details_line("input ", details);
  for (const auto& details : interpreter.get_output_details())
    text += details_line("output", details);
  text += fmt::format("{0}.h, {0}.c\nC source: {1} bytes of constants, {2} bytes of buffers\n",
                      c_source_path(options).string(), r.c_flash_bytes, r.c_ram_bytes);
  text += "\nSHA-256\n";
  for (const auto& [name, hash] : named_hashes(r.hashes)) {
    text += fmt::format("{}  {}\n", hash, name);
  }
  for (const auto& [phase, profile] :
       {std::pair{"float", &r.float_profile}, std::pair{"quantized", &r.qat_profile}}) {
    if (profile->steps() > 0) text += fmt::format("\n{} training\n{}", phase, profile->table());
  }
  return text;
}

std::string metrics_json(const Options& options, const Results& r, int indent) {
  json metrics = {
      {"version", OCTET_VERSION},
      {"seed", options.seed},
      {"threads", r.threads},
      {"isa", to_string(kernels().isa)},
      {"data", {{"name", r.data_name}, {"train", r.train_count}, {"test", r.test_count}}},
      {"hidden", options.hidden},
      {"batch", options.batch},
      {"per_channel", options.per_channel},
      {"tfmot_ranges", options.tfmot_ranges},
      {"rounding", to_string(options.rounding)},
      {"qat_schedule", options.qat_rate_falls ? "cosine" : "constant"},
      {"simulation", to_string(options.simulation)},
      {"epochs", json::parse(history_json(r.history))},
      {"float_accuracy", r.float_accuracy},
      {"simulated_accuracy", r.simulated_accuracy},
      {"integer_accuracy", r.integer_accuracy},
      {"differing_predictions", r.differing_predictions},
      {"float_bytes", r.float_bytes},
      {"int8_bytes", r.int8_bytes},
      {"c_flash_bytes", r.c_flash_bytes},
      {"c_ram_bytes", r.c_ram_bytes},
      {"sha256",
       {{"model", r.hashes.model},
        {"checkpoint", r.hashes.checkpoint},
        {"history", r.hashes.history}}},
      {"seconds", r.seconds},
      {"s_per_epoch", seconds_per_epoch(r.history)},
      {"acc", options.qat_epochs > 0 ? r.integer_accuracy : r.float_accuracy}};
  if (r.calibrated_integer_accuracy) {
    metrics["calibrated_integer_accuracy"] = *r.calibrated_integer_accuracy;
  }
  for (const LayerDifference& layer : r.layer_differences.layers) {
    metrics["layer_differences"].push_back(to_json(layer));
  }
  return metrics.dump(indent) + "\n";
}

double seconds_per_epoch(const History& history) {
  if (history.empty()) return 0.0;
  std::vector<double> seconds;
  for (const EpochRecord& record : history) {
    if (record.phase == history.back().phase) seconds.push_back(record.seconds);
  }
  if (seconds.size() > 1) seconds.erase(seconds.begin());
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

}  // namespace octet::mnist
