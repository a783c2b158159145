#include "quantization_options.h"

#include <octet/command_line/text.h>
#include <octet/compress/layer_flash.h>
#include <octet/core/printable.h>
#include <octet/core/quant/target.h>
#include <octet/layers/quantize/backward.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>

namespace octet::application {
namespace {

using command_line::Count;
using command_line::Real;

constexpr Count kWeightBits{kLeastWeightBits, kMostWeightBits};
constexpr Count kBytes{1, std::numeric_limits<std::int64_t>::max()};

/// Reads "conv2d=8" and the like.
std::vector<LayerBits> layer_bits_of(const std::vector<std::string>& texts) {
  std::vector<LayerBits> result;
  for (const std::string& text : texts) {
    const auto [name, number] = command_line::name_and_value(text);
    const auto bits = command_line::number_in<int>(kWeightBits, number);
    if (!bits || name.empty()) {
      throw CLI::ValidationError(
          "--layer-bits", fmt::format("expected NAME=N, the name of a layer and {}, found {}",
                                      command_line::in_words(kWeightBits), printable(text)));
    }
    if (std::ranges::count(result, name, &LayerBits::layer) > 0) {
      throw CLI::ValidationError(
          "--layer-bits",
          fmt::format("expected one number for layer {}, found two", printable(name)));
    }
    result.push_back({name, *bits});
  }
  return result;
}

}  // namespace

void add_ranges(const Adder& add, Options& o) {
  add.group("Quantization");
  command_line::add_number(
      add.app, "--calibrate", o.calibrate, Count{1, 1000000000},
      fmt::format("Training examples that ranges are measured on, in whole batches; default: {}",
                  o.calibrate ? fmt::format("{} examples", *o.calibrate) : "10 batches"));
  const std::vector<std::string> any = {"min_max", "moving_average", "percentile", "mse",
                                        "entropy"};
  add.choice("--calibration", any, "moving_average", "How the ranges of results are found",
             [&o](const std::string& text) {
               o.quantize.activation_calibration = parse_calibration(text);
             });
  add.choice("--input-calibration", any, "min_max, or --calibration if that leaves outliers out",
             "How the input's range is found", [&o](const std::string& text) {
               o.quantize.input_calibration = parse_calibration(text);
             });
  add.choice(
      "--weight-calibration", {"min_max", "percentile", "mse"},
      "min_max, with 4 bits and fewer mse", "How the ranges of weights are found",
      [&o](const std::string& text) { o.quantize.weight_calibration = parse_calibration(text); });
  add.number("--percentile", o.quantize.percentile, Real{1e-9, 100.0},
             "The share of values, in percent, that percentile keeps");
}

void add_quantization(const Adder& add, Options& o) {
  add.group("Quantization");
  add.number("--weight-bits", o.quantize.weight_bits, kWeightBits,
             "Bits of the weights; the C source stores so many, the .tflite file 4 or 2 where that "
             "changes no result");
  add.app
      .add_option_function<std::vector<std::string>>(
          "--layer-bits",
          [&o](const std::vector<std::string>& texts) { o.layer_bits = layer_bits_of(texts); },
          "Bits of the weights of single layers, by their names, which --flash and --max-drop "
          "leave as they are, e.g. conv2d=8,dense=8")
      ->delimiter(',')
      ->type_name("NAME=N,NAME=N,...");
  add.choice("--activation-bits", {"2", "3", "4", "5", "6", "7", "8", "16"}, "8",
             "Bits of the results of a ReLU; with 16 the input and all results are int16 values, "
             "in rounding mode q15, and there is no C source",
             [&o](const std::string& text) { o.quantize.activation_bits = std::stoi(text); });
  add.flag("--per-channel", o.quantize.per_channel, "A weight scale per unit, not per layer");
  add.flag(
      "--full-grid", o.quantize.full_weight_grid,
      "Weights of fewer than 8 bits use their lowest value too: of 2 bits -2, -1, 0, 1 instead "
      "of -1, 0, 1");
  add.choice("--scales", {"measured", "lsq"}, "measured, with 4 bits and fewer lsq",
             "measured: scales come from observed ranges; lsq: they are learned, those of weights "
             "alone where activations have 16 bits",
             [&o](const std::string& text) { o.quantize.weight_scales = parse_scales(text); });
  add.flag("--tfmot-ranges", o.tfmot_ranges,
           "Ranges start at -6..6 and decay by 0.999, as in TensorFlow Model Optimization");
  add.flag("--batch-statistics", o.batch_statistics,
           "Quantized training normalizes each batch by its own statistics, but for the last third "
           "of the steps; else by those of the epochs in float, where there are any");
  add.flag("--count-oscillations", o.quantize.count_oscillations,
           "Count how often quantized weights oscillate between two values in QAT, and show it");
  add.number(
      "--freeze-oscillations", o.quantize.freeze_oscillations_above, Real{0.0, 0.99},
      "Count it, and freeze weights that oscillate in more than this share of the steps at their "
      "mean value, with --scales lsq");
  add.choice("--simulation", {"integer", "fake_quant"}, "integer",
             "How training computes: integer, as the exported file does, or fake_quant, as "
             "TensorFlow's float composition does",
             [&o](const std::string& text) {
               o.quantize.simulation =
                   text == "integer" ? Simulation::integer : Simulation::fake_quant;
             });
  add.choice("--backward", {"float32", "int8", "int8-stochastic"}, "float32",
             "How quantized training computes gradients: from products of floats, or of int8, for "
             "which gradients are rounded to nearest, or up or down at random; layers without such "
             "products stay in float",
             [&o](const std::string& text) { o.backward = parse_backward(text); });
}

void add_target(const Adder& add, Options& o) {
  add.group("Runtime and size");
  std::vector<std::string> targets;
  targets.reserve(std::size(kTargets));
  for (const Target target : kTargets) targets.emplace_back(to_string(target));
  add.app
      .add_option("--target", o.target,
                  "The runtime that the model is for, instead of its --rounding")
      ->check(command_line::one_of(targets));
  add.choice("--rounding", {"fp32", "single", "double"}, "fp32",
             "Rounding mode of the runtime: fp32 (XNNPACK, ONNX Runtime), single (LiteRT's "
             "built-in kernels on Arm and in plain C++, not on x86), double (TFLite Micro, "
             "CMSIS-NN)",
             [&o](const std::string& text) { o.quantize.rounding = parse_rounding(text); });
  add.flag("--packed", o.packed,
           "Stop before training if --target cannot store weights of 4 bits or fewer packed");
  auto* flash =
      command_line::add_number(
          add.app, "--flash", o.flash, kBytes,
          std::string("Searches the bits of every layer's weights, 2 to 8, for so many bytes of "
                      "flash. Scales are then per unit and learned, ") +
              (o.only_quantizes ? "where there are epochs, and --lr is 1e-3 unless told"
                                : "and the QAT epochs take the rate of --lr unless told"))
          ->type_name("BYTES");
  command_line::add_number(
      add.app, "--max-drop", o.max_drop, Real{0.0, 100.0},
      "Searches the bits of every layer's weights, as --flash does, for the fewest bytes that lose "
      "at most so many percentage points of accuracy before the QAT epochs, on training examples")
      ->excludes(flash);
}

}  // namespace octet::application
