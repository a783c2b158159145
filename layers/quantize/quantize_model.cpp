#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/layers/input.h>
#include <octet/layers/program/program.h>
#include <octet/layers/quantize/batch_norm_folding.h>
#include <octet/layers/quantize/calibration_internal.h>
#include <octet/layers/quantize/float_model.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/quantize/quantized_copy.h>
#include <octet/layers/quantize/result_configs.h>
#include <octet/layers/quantize/result_rule.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace octet {
namespace {

using ConfigPtr = std::shared_ptr<const QuantizeConfig>;

bool has_default_scheme(const Layer& layer) {
  return result_rule(layer, Rounding::fp32) != ResultRule::unknown;
}

/// Whether the layer may be given a quantizer for its result alone.
bool can_be_measured(const Layer& layer) {
  const ResultRule rule = result_rule(layer, Rounding::double_rounding);
  return rule == ResultRule::measured || rule == ResultRule::clamps;
}

/// `options` as one layer asks for them.
QuantizeOptions options_for(const Layer& layer, QuantizeOptions options) {
  const LayerQuantization& own = layer.quantization();
  options.weight_bits = own.weight_bits.value_or(options.weight_bits);
  const std::optional<LayerWeights> weights = layer.weights();
  const bool convolves = weights && weights->convolution;
  options.per_channel = own.per_channel.value_or(options.per_channel || convolves);
  return options;
}

/// How a layer is quantized that is to be: as its mark says, else by default.
QuantizationPlan plan_of(const Layer& layer, const QuantizeOptions& options,
                         std::string_view operation) {
  if (layer.annotation()) return {layer.annotation(), true};
  if (!has_default_scheme(layer)) {
    throw InvalidArgument(
        fmt::format("{}: layer \"{}\" of type {} has no default scheme; leave it in float with "
                    "in_float(). A layer of your own says its operators by Layer::emit()",
                    operation, layer.name(), layer.type()));
  }
  const QuantizeOptions asked = options_for(layer, options);
  if (layer.quantization() == LayerQuantization{}) return {default_8bit(asked)};
  try {
    return {default_8bit(asked)};
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(
        fmt::format("{}: layer \"{}\": {}", operation, layer.name(), error.what()));
  }
}

/// How an unmarked layer that feeds a marked one is quantized: wholly where it has no weights and
/// reads integers, else its result alone; not at all where it has no quantizer for that.
QuantizationPlan plan_of_feeder(const Model& model, std::size_t i,
                                const std::vector<QuantizationPlan>& plans,
                                const QuantizeOptions& options) {
  const Layer& layer = *model.layers()[i];
  const bool stays = is_input(layer) || layer.quantization().in_float;
  if (stays || !has_default_scheme(layer)) return {};
  const auto on_grid = [&](std::size_t read) {
    return plans[read].config != nullptr || is_input(*model.layers()[read]);
  };
  if (!layer.weights() && std::ranges::all_of(model.inputs_of(i), on_grid)) {
    return {default_8bit(options)};
  }
  if (!can_be_measured(layer)) return {};
  return {.config = std::make_shared<const ResultOnlyConfig>(options), .result_only = true};
}

/// Throws InvalidArgument for a layer that is used once more with a mark of its own.
void require_no_marks(const Model& model, std::string_view operation) {
  for (std::size_t i = 0; i < model.layers().size(); ++i) {
    const Layer& layer = *model.layers()[i];
    const bool is_marked = layer.is_annotated() || layer.quantization() != LayerQuantization{};
    const std::size_t used = model.used_layer(i);
    if (used == i || !is_marked) continue;
    throw InvalidArgument(fmt::format(
        "{}: expected \"{}\", which uses \"{}\" once more, to be quantized as that is, found a "
        "mark "
        "of its own; mark \"{}\"",
        operation, layer.name(), model.layers()[used]->name(), model.layers()[used]->name()));
  }
}

}  // namespace

void require_float_model(const Model& model, std::string_view operation) {
  model.require_built(operation);
  for (const auto& layer : model.layers()) {
    if (!layer->is_quantized()) continue;
    throw InvalidArgument(fmt::format(
        "{}: expected a float model, found \"{}\", whose layer \"{}\" is quantized "
        "already; give it the model that quantize_model() took, of a run checkpoints/float.ckpt",
        operation, model.name(), layer->name()));
  }
}

Model quantize_model(const Model& model, const QuantizeOptions& options) {
  require_float_model(model, "quantize_model");
  require_no_marks(model, "quantize_model");
  static_cast<void>(default_8bit(options));
  const auto wants_quantization = [](const Layer& layer) { return !layer.quantization().in_float; };
  const Model source = with_folded_batch_norm(model, options.batch_norm, wants_quantization);
  std::vector<QuantizationPlan> plans;
  for (std::size_t i = 0; i < source.layers().size(); ++i) {
    // A layer that is used once more has its plan already.
    if (source.used_layer(i) != i) {
      plans.push_back(plans[source.used_layer(i)]);
      continue;
    }
    const Layer& layer = *source.layers()[i];
    const bool stays = is_input(layer) || !wants_quantization(layer);
    plans.push_back(stays ? QuantizationPlan{} : plan_of(layer, options, "quantize_model"));
  }
  return quantized_copy(source, std::move(plans), options);
}

void quantize_annotate_layer(Layer& layer, ConfigPtr config) {
  const std::string_view why = layer.is_annotated()            ? "which is marked already"
                               : layer.is_quantized()          ? "which is quantized already"
                               : layer.quantization().in_float ? "which is left in float"
                               : is_input(layer)               ? "which is an input"
                                                               : "";
  if (!why.empty()) {
    const std::string name = layer.name().empty() ? "one" : fmt::format("\"{}\"", layer.name());
    throw InvalidArgument(fmt::format(
        "quantize_annotate_layer: expected a layer to quantize, found {} of type {}, {}", name,
        layer.type(), why));
  }
  layer.annotate(std::move(config));
}

std::unique_ptr<Layer> quantize_annotate_layer(std::unique_ptr<Layer> layer, ConfigPtr config) {
  if (layer == nullptr) {
    throw InvalidArgument("quantize_annotate_layer: expected a layer to quantize, found null");
  }
  quantize_annotate_layer(*layer, std::move(config));
  return layer;
}

Model quantize_apply(const Model& model, const QuantizeOptions& options) {
  require_float_model(model, "quantize_apply");
  require_no_marks(model, "quantize_apply");
  static_cast<void>(default_8bit(options));
  const Model source = with_folded_batch_norm(
      model, options.batch_norm, [](const Layer& layer) { return layer.is_annotated(); });
  std::vector<QuantizationPlan> plans(source.layers().size());
  bool any_marked = false;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const std::size_t used = source.used_layer(i);
    const Layer& layer = *source.layers()[used];
    if (!layer.is_annotated()) continue;
    any_marked = true;
    for (const std::size_t input : source.inputs_of(i)) {
      // A layer that is used several times is quantized everywhere or nowhere.
      if (plans[input].config == nullptr && source.used_layer(input) == input &&
          !source.is_reused(input)) {
        plans[input] = plan_of_feeder(source, input, plans, options);
      }
    }
    plans[i] = used == i ? plan_of(layer, options, "quantize_apply") : plans[used];
  }
  if (!any_marked) {
    throw InvalidArgument(fmt::format(
        "quantize_apply: expected a layer marked with quantize_annotate_layer(), found none in "
        "\"{}\"; use quantize_model() to quantize all",
        model.name()));
  }
  return quantized_copy(source, std::move(plans), options);
}

Model quantize_post_training(const Model& model, std::span<const Tensor> inputs,
                             const QuantizeOptions& options) {
  detail::require_samples("quantize_post_training", model, inputs);
  Model quantized = quantize_model(model, options);
  calibrate(quantized, inputs);
  return quantized;
}

bool has_fixed_scale(const Model& model, std::size_t i) {
  const Program& program = model.program();
  return program.values[program.result_of_layer[i]].form.fixed_by.has_value();
}

}  // namespace octet
