#include <fmt/format.h>
#include <octet/application/data.h>
#include <octet/application/network.h>
#include <octet/application/run.h>
#include <octet/command_line/text.h>
#include <octet/compress/layer_flash.h>
#include <octet/core/error.h>
#include <octet/layers/architecture.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/train/fine_tune.h>
#include <octet/train/qat_recipe.h>

#include <optional>
#include <string>
#include <utility>

#include "commands.h"
#include "float_model.h"
#include "load_examples.h"
#include "npz_data.h"

namespace octet::tools {
namespace {

/// What suits a model of a file: a search may give its layers few bits.
QatRecipe recipe_of(const Model& model, const application::Options& options) {
  QuantizeOptions quantize = options.quantize;
  quantize.weight_bits = searches_bits(options) ? kLeastWeightBits : fewest_weight_bits(options);
  return qat_recipe(model, quantize);
}

/// A model of a file, and what it says of the examples that it was trained on.
struct GivenModel {
  Model model;
  IntegerModel metadata;
};

/// The model that a file in JSON describes, its weights drawn.
Model described_model(const application::Options& options) {
  Model model = application::in_file(
      options.file, [&] { return model_from_json(command_line::read_text(options.file)); });
  model.build(options.seed);
  return model;
}

/// The arrays of .npz files for a model, or examples of one input and one output.
DataSplit load_examples(const application::Options& options, const GivenModel* given) {
  DataOptions how = options.data_options;
  how.more_test_classes = options.task == application::Task::reconstruction;
  if (given == nullptr) return load_examples_at(options.data, how);
  require_one_input(given->model, options.file, options.data);
  IntegerModel model = is_npz(options.data) ? lower_float(given->model) : IntegerModel{};
  model.metadata = given->metadata.metadata;
  return load_for(
      options.file, model, options.data, how,
      options.fine_tunes ? application::TakenOver::features : application::TakenOver::all);
}

/// The model of FILE as it is trained on: with another head, and layers that are frozen. `text`
/// gets what was done.
Model continued(const Model& given, const application::Options& o, const Dataset& data,
                std::string& text) {
  Model model = given;
  std::string head;
  text.clear();
  if (o.fine_tunes) {
    const Index found = data.has_labels() ? data.classes() : data.target_shape().size();
    const Index units = o.classes > 0 ? o.classes : found;
    if (units < found) {
      throw UsageError(fmt::format("--classes: expected at least the {} of the data, found {}",
                                   found, o.classes));
    }
    FineTuned tuned = with_new_head(given, units, o.seed);
    model = std::move(tuned.model);
    head = tuned.head;
    text += fmt::format("loaded from {}: {}\nnew: {}, {} units\n", o.file,
                        fmt::join(tuned.loaded, ", "), tuned.head, units);
  }
  if (!o.frozen.empty()) {
    text += fmt::format("frozen: {}\n", fmt::join(freeze_layers(model, o.frozen, head), ", "));
  }
  return model;
}

}  // namespace

int train(application::Options options, int argc, char** argv) {
  std::optional<GivenModel> given;
  std::string text;
  const application::Application program{
      .name = "octet",
      .help = fmt::format("see octet {} --help", options.only_quantizes ? "quantize" : "train"),
      .stem = "model",
      .writes_onnx = true,
      .load_data =
          [&given](const application::Options& o) {
            return load_examples(o, given ? &*given : nullptr);
          },
      .make_model =
          [&](const application::Options& o, const Dataset& data) {
            return given ? continued(given->model, o, data, text)
                         : application::make_network(o, data, "model");
          },
      .model_text = [&text] { return text; }};
  return application::run(program, argc, argv, [&] {
    if (!options.file.empty()) {
      given = has_trained_weights(options)
                  ? GivenModel{read_float_model(options.file), metadata_of(options.file)}
                  : GivenModel{described_model(options), {}};
      application::take_preparation(given->metadata, given->model, options);
    }
    // Scales that no step moves stay measured.
    if (given && options.qat_epochs > 0) take_recipe(recipe_of(given->model, options), options);
    return application::ParsedOptions{options};
  });
}

}  // namespace octet::tools
