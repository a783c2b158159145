#include <fmt/core.h>
#include <octet/application/data.h>
#include <octet/command_line/text.h>
#include <octet/core/error.h>
#include <octet/core/json_text.h>
#include <octet/core/parallel.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/ranges.h>
#include <octet/report/measure.h>
#include <octet/report/run_facts.h>
#include <octet/report/verdict.h>
#include <octet/train/load_model.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "load_examples.h"
#include "show.h"

namespace octet::tools {
namespace {

namespace fs = std::filesystem;

/// The files of a folder whose names end so, in the order of their names.
std::vector<fs::path> files_ending(const fs::path& folder, std::string_view end) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.size() >= end.size() && name.ends_with(end)) found.push_back(entry.path());
  }
  if (error) {
    throw IoError(fmt::format("report: cannot list {}: {}", folder.string(), error.message()));
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// The only file of the folder whose name ends so.
fs::path only_file(const fs::path& folder, std::string_view end) {
  const std::vector<fs::path> found = files_ending(folder, end);
  if (found.size() == 1) return found.front();
  throw InvalidArgument(
      fmt::format("report: expected one file *{} in {}, found {}; is it the folder of a run that "
                  "has ended?",
                  end, folder.string(), found.size()));
}

/// What a run left on disk.
struct Leavings {
  fs::path shipped_file;
  IntegerModel in_float;
  IntegerModel shipped;
  /// Whether no training with quantization has changed the weights.
  bool is_calibrated = false;
  std::optional<Model> quantized;
  std::optional<Model> float_model;
  std::string metrics;
};

std::optional<Model> model_in(const fs::path& checkpoint) {
  if (!fs::exists(checkpoint)) return std::nullopt;
  return load_model(checkpoint);
}

/// Calls read() for what the metrics.json of a run holds.
template <class Read>
auto in_metrics(const fs::path& file, const std::string& metrics, const Read& read) {
  try {
    const detail::ParsedJson parsed(metrics);
    if (!parsed->is_object()) throw FormatError("expected an object");
    return read(*parsed);
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(fmt::format("report: {}: {}", file.string(), detail::fault_text(error)));
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("report: {}: {}", file.string(), error.what()));
  }
}

/// The bits of layers that a search has found, which the float checkpoint does not know.
void set_bits_of(const nlohmann::json& metrics, Model& model) {
  if (!metrics.contains("bits")) return;
  for (const auto& [layer, bits] : metrics.at("bits").items()) {
    LayerQuantization how = model.layer(layer).quantization();
    how.weight_bits = detail::whole_number<int>(bits);
    model.layer(layer).set_quantization(how);
  }
}

/// False where last.ckpt, if there is one, is of an earlier run.
bool has_checkpoint(const nlohmann::json& metrics) {
  return metrics.contains("sha256") && !metrics.at("sha256").value("checkpoint", "").empty();
}

Leavings read_run(const fs::path& folder) {
  Leavings run;
  const fs::path metrics = folder / "metrics.json";
  run.metrics = command_line::read_text(metrics);
  run.shipped_file = only_file(folder, "_int8.tflite");
  run.shipped = read_tflite(run.shipped_file);
  run.in_float = read_tflite(only_file(folder, "_float.tflite"));
  if (in_metrics(metrics, run.metrics, has_checkpoint)) {
    run.quantized = model_in(folder / "checkpoints" / "last.ckpt");
  }
  // No quantized model is saved then: the last checkpoint is that of the float model.
  run.is_calibrated = run.quantized && !is_quantized(*run.quantized);
  if (run.is_calibrated) run.quantized.reset();
  run.float_model = model_in(folder / "checkpoints" / "float.ckpt");
  // A checkpoint may be that of another run in this folder.
  if (run.float_model) {
    IntegerModel lowered = lower_float(*run.float_model);
    // The file says besides what examples it was trained on.
    lowered.metadata = run.in_float.metadata;
    if (to_tflite(lowered) != to_tflite(run.in_float)) run.float_model.reset();
  }
  if (run.float_model) {
    in_metrics(metrics, run.metrics,
               [&](const nlohmann::json& read) { set_bits_of(read, *run.float_model); });
  }
  return run;
}

std::string name_of(const fs::path& folder) {
  const fs::path whole = fs::absolute(folder).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

/// The data as the run read and normalized it, with the names that it gave classes.
DataSplit load_as_trained(const ReportCommand& options, const Leavings& run) {
  const std::string file = run.shipped_file.string();
  // Arrays are named as the network names its ends, which a shipped file may have in another type.
  IntegerModel model = run.in_float;
  model.metadata = run.shipped.metadata;
  DataSplit data = load_for(file, model, options.data, options.data_options);
  data.train = application::prepared_for(file, run.shipped, data.train);
  data.test = application::prepared_for(file, run.shipped, data.test);
  return data;
}

}  // namespace

void report(const ReportCommand& options) {
  if (options.threads > 0) set_num_threads(options.threads);
  const Leavings run = read_run(options.folder);
  DataSplit data = load_as_trained(options, run);
  if (!options.class_names.empty()) data.test = data.test.with_class_names(options.class_names);
  Report found = measure_report(
      {run.in_float, run.shipped, run.quantized ? &*run.quantized : nullptr,
       run.float_model ? &*run.float_model : nullptr},
      data.train, data.test, {.shipped_name = run.is_calibrated ? "calibrated" : ""});
  if (options.class_names.empty()) {
    application::in_file(run.shipped_file.string(), [&] {
      const std::vector<std::string> names = class_names_of(run.shipped);
      if (!names.empty()) found.class_names = names;
    });
  }
  found.title = fmt::format("{} on {}", name_of(options.folder), data.test.name());
  found.files = files_beside(run.shipped_file);
  add_run_facts(run.metrics, found);
  write_report(options.out, found);
  show("{}", printable_lines(to_text(judge(found))));
  show("{}\n", printable(options.out, kMostOfWarning));
}

}  // namespace octet::tools
