#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/quant/target.h>
#include <octet/deploy/c/writer.h>
#include <octet/deploy/constant_units.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/runtime_warnings.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/runtime/operator_cost.h>
#include <octet/runtime/packed_weights.h>

#include "commands.h"
#include "show.h"

namespace octet::tools {
namespace {

/// Gives a model that names no rounding mode the one that the command line asks for.
void set_rounding(IntegerModel& model, const ExportOptions& options) {
  const auto& [suffix, rounding, target] = options.contract;
  const std::optional<Rounding> chosen = options.contract.chosen();
  if (!chosen) return;
  const Rounding own = rounding_of(model);
  if (!model.metadata.contains(kRoundingKey) && own != Rounding::q15) {
    model.metadata[kRoundingKey] = to_string(*chosen);
    return;
  }
  if (target.empty() ? own == *chosen : computes(parse_target(target), own)) return;
  throw InvalidArgument(fmt::format(
      "export: '{}' is a model of rounding mode {}, but {} asks for {}; train or quantize it for "
      "that",
      options.file, to_string(own), target.empty() ? "--rounding" : "--target " + target,
      to_string(*chosen)));
}

/// Prints what prune_constant_units() made of a model.
void show_pruned(const std::vector<PrunedUnits>& layers, const IntegerModel& before,
                 const IntegerModel& after) {
  if (layers.empty()) return;
  show("{:<60} {:>9} {:>9} {:>9}\n", "units dropped", "of", "constant", "unread");
  for (const PrunedUnits& layer : layers) {
    show("{:<60} {:>9} {:>9} {:>9}\n", printable(layer.layer, kMostOfName), layer.units,
         layer.constant, layer.unread);
  }
  const OperatorCost old_cost = model_cost(before);
  const OperatorCost cost = model_cost(after);
  show("multiply-adds: {} of {}, bytes of constants: {} of {}\n", cost.multiply_adds,
       old_cost.multiply_adds, cost.constant_bytes, old_cost.constant_bytes);
}

/// Prints what C source takes of RAM, and how it came to that.
void show_ram(const CSource& source) {
  show(
      "RAM: {} bytes of static buffers, {} of inputs, outputs and states beside them; {} code, "
      "{}{}\n",
      source.ram_bytes, source.caller_bytes, source.code == CCode::fast ? "fast" : "small",
      source.input_in_arena ? "the input in the static buffers" : "the input of the caller",
      source.rows > 0 ? fmt::format(", layers by rows ({} at a time)", source.rows) : "");
}

}  // namespace

void export_model(const ExportOptions& options) {
  if (options.variables && options.tflite.empty() && options.tflm.empty()) {
    throw InvalidArgument(
        "export: expected --tflite or --tflm with --variables, which are of .tflite files; C "
        "source "
        "keeps states in a struct");
  }
  IntegerModel model = read_tflite(options.file, {.from = options.from, .to = options.to});
  set_rounding(model, options);
  IntegerModel pruned = model;
  if (options.prune_constant || (!options.c.empty() && !options.no_prune_constant)) {
    show_pruned(prune_constant_units(pruned), model, pruned);
  }
  const IntegerModel& shown = options.prune_constant ? pruned : model;
  if (!options.onnx.empty()) {
    write_onnx(shown, options.onnx,
               {.style = options.style == "exact" ? OnnxStyle::exact : OnnxStyle::standard,
                .float_io = !options.int8_io,
                .code_outputs = options.codes});
  }
  if (!options.c.empty()) {
    const CSource source =
        write_c_source(pruned, options.c,
                       {.code = options.c_code == "fast" ? CCode::fast : CCode::small,
                        .input_in_arena = options.c_input_in_arena,
                        .ram = options.ram});
    if (options.ram) show_ram(source);
  }
  const auto states =
      options.variables ? TfliteStates::variables : TfliteStates::inputs_and_outputs;
  if (!options.tflm.empty()) write_tflite(decode_weights(shown), options.tflm, states);
  if (!options.tflite.empty()) write_tflite(shown, options.tflite, states);
  for (const std::string& warning : runtime_warnings(model)) {
    show_error("octet: warning: {}\n", printable(warning, kMostOfWarning));
  }
}

}  // namespace octet::tools
