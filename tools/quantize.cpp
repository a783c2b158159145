#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/parallel.h>
#include <octet/deploy/runtime_warnings.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/report/measure.h>
#include <octet/report/range_log.h>
#include <octet/report/run_facts.h>
#include <octet/train/data/idx.h>
#include <octet/train/progress_bar.h>
#include <octet/train/qat_recipe.h>
#include <octet/train/sha256.h>
#include <octet/train/stop_signals.h>
#include <octet/train/training_run.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "commands.h"
#include "float_model.h"
#include "show.h"

namespace octet::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPhase = "qat";
/// Test images that the C source's self-test runs.
constexpr std::size_t kSelfTestImages = 4;

Rounding rounding_of(const QuantizeCommand& options) {
  return options.contract.chosen().value_or(Rounding::fp32);
}

/// (x - mean) / std of every value, a mean and a deviation for all or for each of the last axis.
Dataset normalized(const Dataset& data, const QuantizeCommand& options) {
  if (options.mean.empty() && options.deviation.empty()) return data;
  const std::vector<float> mean = options.mean.empty() ? std::vector{0.0F} : options.mean;
  const std::vector<float> deviation =
      options.deviation.empty() ? std::vector{1.0F} : options.deviation;
  const auto channels = static_cast<std::size_t>(data.example_shape().dim(-1));
  for (const auto& [name, list] : {std::pair{"--mean", &mean}, std::pair{"--std", &deviation}}) {
    if (list->size() == 1 || list->size() == channels) continue;
    throw UsageError(
        fmt::format("{}: expected one number, or one for each of the {} channels of "
                    "images {}, found {}",
                    name, channels, data.example_shape().to_string(), list->size()));
  }
  const Tensor features = data.features(0, data.size());
  std::vector<float> values(features.span().begin(), features.span().end());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t channel = i % channels;
    values[i] = (values[i] - mean[mean.size() > 1 ? channel : 0]) /
                deviation[deviation.size() > 1 ? channel : 0];
  }
  const std::span<const std::int32_t> labels = data.labels();
  return Dataset::from_floats(data.name(), data.example_shape(), std::move(values),
                              {labels.begin(), labels.end()}, data.classes());
}

DataSplit load_data(const QuantizeCommand& options) {
  const DataSplit data = load_idx(options.data);
  DataSplit result = {normalized(data.train, options), normalized(data.test, options)};
  if (!options.class_names.empty()) {
    result.test = result.test.with_class_names(options.class_names);
  }
  return result;
}

QuantizeOptions quantize_options(const QuantizeCommand& options) {
  QuantizeOptions result{.rounding = rounding_of(options),
                         .weight_bits = options.weight_bits,
                         .per_channel = options.per_channel,
                         .count_oscillations = options.count_oscillations,
                         .percentile = options.percentile};
  if (!options.calibration.empty()) {
    result.activation_calibration = parse_calibration(options.calibration);
  }
  if (!options.input_calibration.empty()) {
    result.input_calibration = parse_calibration(options.input_calibration);
  }
  if (!options.weight_calibration.empty()) {
    result.weight_calibration = parse_calibration(options.weight_calibration);
  }
  return result;
}

/// How the model is quantized, and the rate that it is trained with. Scales that no step moves stay
/// measured, unless --scales says otherwise.
QatRecipe recipe_of(const QuantizeCommand& options, const Model& model) {
  QuantizeOptions asked = quantize_options(options);
  QatRecipe recipe = options.epochs > 0 ? qat_recipe(model, asked) : QatRecipe{asked};
  if (!options.scales.empty()) {
    recipe.quantize.weight_scales = parse_scales(options.scales);
    recipe.quantize.activation_scales = parse_scales(options.scales);
  }
  recipe.learning_rate = options.lr.value_or(recipe.learning_rate);
  return recipe;
}

/// What decides how ranges and scales come about, by option, where it is not the default.
std::map<std::string, std::string> range_options(const QuantizeCommand& options) {
  const QuantizeCommand usual;
  std::map<std::string, std::string> result;
  for (const auto& [name, value, default_value] :
       {std::tuple("--calibration", options.calibration, usual.calibration),
        std::tuple("--input-calibration", options.input_calibration, usual.input_calibration),
        std::tuple("--weight-calibration", options.weight_calibration, usual.weight_calibration),
        std::tuple("--percentile", fmt::format("{}", options.percentile),
                   fmt::format("{}", usual.percentile)),
        std::tuple("--scales", options.scales, usual.scales)}) {
    if (value != default_value) result[name] = value;
  }
  return result;
}

/// "--input-calibration" is "input_calibration" in metrics.json.
std::string metric_name(std::string_view option) {
  std::string name(option.substr(2));
  std::ranges::replace(name, '-', '_');
  return name;
}

/// What decides the result, beside the model and the data.
std::map<std::string, std::string> defining_options(const QuantizeCommand& options,
                                                    const QatRecipe& recipe) {
  std::map<std::string, std::string> result = range_options(options);
  result.insert({{"--calibrate", std::to_string(options.calibrate)},
                 {"--epochs", std::to_string(options.epochs)},
                 {"--lr", fmt::format("{}", recipe.learning_rate)},
                 {"--batch", std::to_string(options.batch)},
                 {"--seed", std::to_string(options.seed)},
                 {"--weight-bits", std::to_string(options.weight_bits)},
                 {"--per-channel", options.per_channel ? "1" : "0"},
                 {"--count-oscillations", options.count_oscillations ? "1" : "0"},
                 {"--rounding", std::string(to_string(rounding_of(options)))},
                 {"--mean", fmt::format("{}", fmt::join(options.mean, ","))},
                 {"--std", fmt::format("{}", fmt::join(options.deviation, ","))},
                 {"FILE", sha256(read_file(options.file))}});
  return result;
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

/// One quantization, from the float model to the files in --out.
class Quantization {
 public:
  Quantization(const QuantizeCommand& options, const StopSignals& signals)
      : options_(options),
        signals_(signals),
        float_(read_float_model(options.file)),
        recipe_(recipe_of(options, float_)),
        run_({.folder = options.out,
              .phases = {kPhase},
              .options = defining_options(options, recipe_),
              .outputs = {"model_float.tflite", "model_int8.tflite", "model_int8.onnx",
                          "model_int8.h", "model_int8.c"},
              .inputs = {options.file},
              .resume = options.resume,
              .names = {"--out", "--out", "--resume"}}),
        data_(load_data(options)) {}

  /// False where a signal stopped it.
  bool run() {
    // Refuses a model that is quantized already.
    Model quantized = quantize_model(float_, recipe_.quantize);
    // Refuses data that the model does not take, before begin() moves what is there.
    float_accuracy_ = evaluate(float_, data_.test).accuracy;
    run_.begin(data_);
    print_text(screen(), run_.begin_text());
    Trainer trainer = make_trainer(quantized);
    if (options_.epochs > 0) {
      print_text(screen(), fmt::format("quantized training: {}\n", to_string(recipe_)));
    }
    if (!run_.fit(kPhase, trainer, options_.epochs)) return false;
    const IntegerModel shipped = export_files(trainer);
    finish(quantized, shipped);
    return true;
  }

 private:
  std::FILE* screen() const { return options_.json ? stderr : stdout; }
  fs::path file(const char* name) const { return fs::path(options_.out) / name; }

  Trainer make_trainer(Model& quantized) {
    const std::uint64_t steps = training_steps(data_.train, options_.epochs, options_.batch);
    Trainer trainer(
        quantized, Adam(cosine_decay(recipe_.learning_rate, std::max<std::uint64_t>(steps, 1))),
        {.loss = classification_loss(quantized),
         .batch_size = options_.batch,
         .seed = options_.seed,
         .calibration_batches = (options_.calibrate + options_.batch - 1) / options_.batch,
         .should_stop = [this] { return signals_.requested(); }});
    trainer.add_callback(std::make_shared<ProgressBar>(screen()));
    trainer.add_callback(ranges_);
    return trainer;
  }

  /// Writes the integers; what the .tflite file holds.
  IntegerModel export_files(const Trainer& trainer) {
    write_tflite(lower_float(float_), file("model_float.tflite"));
    trainer.export_int8(file("model_int8.tflite"), {.pack_weights = true});
    const Tensor images = data_.test.features(0, std::min(kSelfTestImages, data_.test.size()));
    c_source_ = trainer.export_c_source(
        file("model_int8"),
        {.weights = options_.weight_bits < 8 ? CWeights::packed : CWeights::int8,
         .self_test_inputs = {images.span().begin(), images.span().end()}});
    trainer.export_onnx(file("model_int8.onnx"));
    if (trainer.calibrated()) calibrated_ = trainer.calibrated()->integer_accuracy;
    simulated_ = trainer.evaluate(data_.test);
    return read_tflite(file("model_int8.tflite"));
  }

  void finish(const Model& quantized, const IntegerModel& shipped) {
    const Evaluation integers = evaluate(shipped, data_.test);
    nlohmann::json metrics = {
        {"file", options_.file},
        {"command", options_.command},
        {"calibrate", options_.calibrate},
        {"batch", options_.batch},
        {"lr", as_written(recipe_.learning_rate)},
        {"scales", to_string(recipe_.quantize.weight_scales)},
        {"seed", options_.seed},
        {"weight_bits", options_.weight_bits},
        {"per_channel", options_.per_channel},
        {"mean", as_written(options_.mean)},
        {"std", as_written(options_.deviation)},
        {"rounding", to_string(rounding_of(options_))},
        {"float_accuracy", float_accuracy_},
        {"integer_accuracy", integers.accuracy},
        {"simulated_accuracy", simulated_.accuracy},
        {"differing_predictions", count_differing(simulated_, integers)},
        {"int8_bytes", fs::file_size(file("model_int8.tflite"))},
        {"float_bytes", fs::file_size(file("model_float.tflite"))},
        {"ranges", nlohmann::json::parse(ranges_json(ranges_->ranges()))},
        {"oscillations", nlohmann::json::parse(oscillations_json(ranges_->oscillations()))}};
    if (calibrated_) metrics["calibrated_integer_accuracy"] = *calibrated_;
    for (const auto& [option, value] : range_options(options_))
      metrics[metric_name(option)] = value;
    const RunReport done = run_.finish(file("model_int8.tflite"), metrics.dump());
    if (!options_.report.empty()) write_page(quantized, shipped, done.metrics);
    if (options_.json) {
      show("{}\n", done.metrics);
      for (const std::string& warning : runtime_warnings(shipped)) {
        show_error("octet: warning: {}\n", warning);
      }
    } else {
      print(integers, shipped);
    }
  }

  void write_page(const Model& quantized, const IntegerModel& shipped,
                  const std::string& metrics) const {
    const IntegerModel in_float = read_tflite(file("model_float.tflite"));
    Report page = measure_report({in_float, shipped, &quantized, &float_}, data_.train, data_.test);
    page.title =
        fmt::format("{} on {}", fs::path(options_.file).filename().string(), data_.test.name());
    add_run_facts(metrics, page);
    write_report(options_.report, page);
  }

  void print(const Evaluation& integers, const IntegerModel& shipped) const {
    const auto line = [](const char* what, double accuracy, std::uintmax_t bytes) {
      show("{:<26} {:>8.2f} % {:>12} bytes\n", what, 100.0 * accuracy, bytes);
    };
    const std::uintmax_t bytes = fs::file_size(file("model_int8.tflite"));
    show("\n{:<26} {:>10} {:>18}\n", "", "accuracy", "file");
    line("float", float_accuracy_, fs::file_size(file("model_float.tflite")));
    if (calibrated_ && options_.epochs > 0) line("integers, calibrated", *calibrated_, bytes);
    line(options_.epochs > 0 ? "integers, trained" : "integers, calibrated", integers.accuracy,
         bytes);
    show("test images that the simulation and the file class differently: {} of {}\n",
         count_differing(simulated_, integers), data_.test.size());
    show("C source: {} bytes of constants, {} bytes of buffers\n", c_source_.flash_bytes,
         c_source_.ram_bytes);
    for (const std::string& warning : runtime_warnings(shipped)) {
      show("warning: {}\n", warning);
    }
    show("{}.tflite, .onnx, .h, .c\n", file("model_int8").string());
    if (!options_.report.empty()) show("report: {}\n", options_.report);
  }

  const QuantizeCommand& options_;
  const StopSignals& signals_;
  Model float_;
  QatRecipe recipe_;
  TrainingRun run_;
  DataSplit data_;
  std::shared_ptr<RangeLog> ranges_ = std::make_shared<RangeLog>();
  double float_accuracy_ = 0.0;
  std::optional<double> calibrated_;
  Evaluation simulated_;
  CSource c_source_;
};

}  // namespace

int quantize(const QuantizeCommand& options) {
  constexpr int kStoppedExit = 128;
  const StopSignals signals;
  kernels();  // Throws where OCTET_ISA names none.
  if (options.threads > 0) set_num_threads(options.threads);
  if (Quantization(options, signals).run()) return 0;
  show_error("\nstopped; to go on: {}\n", options.resume_command);
  return kStoppedExit + signals.signal();
}

}  // namespace octet::tools
