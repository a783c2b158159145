#include <fmt/core.h>
#include <octet/application/network.h>
#include <octet/application/run.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/train/data/idx.h>
#include <octet/train/qat_recipe.h>

#include <optional>

#include "commands.h"
#include "float_model.h"

namespace octet::tools {
namespace {

/// What suits a model of a file: a search may give its layers few bits.
QatRecipe recipe_of(const Model& model, const application::Options& options) {
  constexpr int kFewestBits = 2;
  QuantizeOptions quantize = options.quantize;
  if (searches_bits(options)) quantize.weight_bits = kFewestBits;
  return qat_recipe(model, quantize);
}

}  // namespace

int train(application::Options options, int argc, char** argv) {
  std::optional<Model> given;
  const application::Program program{
      .name = "octet",
      .help = fmt::format("see octet {} --help", options.only_quantizes ? "quantize" : "train"),
      .stem = "model",
      .writes_onnx = true,
      .load_data = [](const application::Options& o) { return load_idx(o.data); },
      .make_model =
          [&given](const application::Options& o, const Dataset& data) {
            return given ? *given : application::make_network(o, data, "model");
          }};
  return application::run(program, argc, argv, [&] {
    if (!options.file.empty()) given = read_float_model(options.file);
    // Scales that no step moves stay measured.
    if (given && options.qat_epochs > 0) take_recipe(recipe_of(*given, options), options);
    return application::ParsedOptions{options};
  });
}

}  // namespace octet::tools
