#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/layers/activation.h>
#include <octet/layers/input.h>
#include <octet/layers/program/program.h>
#include <octet/layers/quantize/batch_norm_folding.h>
#include <octet/layers/quantize/calibration_internal.h>
#include <octet/layers/quantize/float_model.h>
#include <octet/layers/quantize/model_passes.h>
#include <octet/layers/quantize/program_passes.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/quantize/result_configs.h>
#include <octet/layers/quantize/result_rule.h>
#include <octet/layers/quantize/second_factors.h>
#include <octet/layers/quantize/step_rules.h>
#include <octet/layers/reused_layer.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace octet {
namespace {

using ConfigPtr = std::shared_ptr<const QuantizeConfig>;

/// How one layer of the source model is to be quantized: not at all without a config.
struct Plan {
  ConfigPtr config;
  /// Whether the user gave the config to this very layer.
  bool own_config = false;
  /// Whether the layer computes in floats and has its result quantized.
  bool result_only = false;
};

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
Plan plan_of(const Layer& layer, const QuantizeOptions& options, std::string_view operation) {
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
Plan plan_of_feeder(const Model& model, std::size_t i, const std::vector<Plan>& plans,
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

/// Throws InvalidArgument that names the layer where it becomes an operator that does not compute
/// on int16. A softmax computes in float.
void require_int16_operators(const Layer& layer) {
  for (const Step& step : program_of(layer).steps) {
    if (step.kind == Step::Kind::function) continue;
    const OperatorDefinition& about = definition(step.code);
    if (about.takes_int16 || about.output_grid == OutputGrid::fixed) continue;
    std::vector<std::string_view> names;
    for (const OpCode code : kOpCodes) {
      if (definition(code).takes_int16) names.push_back(definition(code).name);
    }
    throw InvalidArgument(fmt::format(
        "quantize_model: layer \"{}\" of type {}: expected layers that become one of {} with "
        "activations of 16 bits, found {}; leave it in_float(), let the strides of a convolution "
        "do its work, or use 8 bits",
        layer.name(), layer.type(), fmt::join(names, ", "), about.name));
  }
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

/// Builds the quantized copy of a model, layer by layer.
class Quantization {
 public:
  Quantization(const Model& source, std::vector<Plan> plans, const QuantizeOptions& options)
      : source_(source),
        plans_(std::move(plans)),
        options_(options),
        result_(source.name()),
        indices_(indices_of(source)) {
    keep_indices();
    const Program& program = source.program();
    const std::vector<bool> factors = second_factors(program, options.rounding);
    is_factor_.resize(source.layers().size());
    for (std::size_t i = 0; i < is_factor_.size(); ++i) {
      if (factors[program.result_of_layer[i]]) is_factor_[source.used_layer(i)] = true;
    }
    clamps_ = fusible_clamps(source, [&](std::size_t i, std::size_t clamp) {
      // A config of its own says how the clamp's result is quantized; that of the layer would win.
      const bool keeps_own = plans_[clamp].own_config && plans_[clamp].config != plans_[i].config;
      return plans_[i].config != nullptr && plans_[clamp].config != nullptr && !keeps_own;
    });
  }

  Model run() {
    results_.resize(source_.layers().size());
    fused_.resize(results_.size());
    added_.resize(results_.size());
    integers_.resize(results_.size());
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (!fused_[i]) results_[i] = quantized(i);
    }
    for (const std::size_t output : source_.output_layers()) result_.output(results_[output].value);
    // Finds what cannot be joined before it is trained.
    static_cast<void>(result_.program());
    return std::move(result_);
  }

 private:
  /// The result of a layer of the quantized model.
  struct Result {
    Value value{};
    ValueForm form{};
  };

  Result quantized(std::size_t i) {
    std::unique_ptr<Layer> copy = clone_of(*source_.layers()[i], source_.layers()[i]->name());
    if (const std::size_t used = source_.used_layer(i); used != i) {
      const Result again =
          added(std::make_unique<ReusedLayer>(added_[used], copy->name()), inputs_of(i));
      return {again.value, results_[used].form};
    }
    if (plans_[i].config == nullptr) {
      added_[i] = copy->name();
      const bool brings_examples = is_input(*copy);
      Result result = added(std::move(copy), inputs_of(i));
      if (!brings_examples || indices_[i]) return result;
      auto quantizer = default_input_quantizer(options_, spec_of(i));
      return added(std::make_unique<QuantizeLayer>(std::move(quantizer), options_), {result});
    }
    const std::size_t clamp = clamps_[i].value_or(i);
    if (clamp != i) copy = copy->with_activation(source_.layers()[clamp]->activation());
    copy->remove_annotation();
    if (plans_[i].config->options().rounding == Rounding::q15 && !plans_[i].result_only) {
      require_int16_operators(*copy);
    }
    auto wrapper = std::make_unique<QuantizeWrapper>(std::move(copy), config_of(i, clamp));
    // Before it is trained, since lower() would refuse it afterwards.
    if (plans_[i].own_config) require_exportable_clamp(*wrapper);
    added_[i] = wrapper->name();
    Result result = added(std::move(wrapper), inputs_of(i));
    if (clamp != i) {
      fused_[clamp] = true;
      results_[clamp] = result;
    }
    return result;
  }

  /// Leaves layers that move indices, which have no scale, as they are. Throws InvalidArgument that
  /// names a layer which would quantize them.
  void keep_indices() {
    for (std::size_t i = 0; i < indices_.size(); ++i) {
      const Layer& layer = *source_.layers()[i];
      const bool is_quantized = plans_[i].config != nullptr;
      if (!indices_[i] || !(is_input(layer) || is_quantized)) continue;
      const bool is_shared = source_.used_layer(i) != i || source_.is_reused(i);
      if (is_quantized && (!moves_alone(layer) || plans_[i].own_config || is_shared)) {
        throw InvalidArgument(fmt::format(
            "quantize_model: expected indices, which have no scale, to come from an input by way "
            "of layers that move them and are used once, found \"{}\" of type {}, whose result "
            "would be quantized; leave it in_float(), or give the indices an input of their own",
            layer.name(), layer.type()));
      }
      require_index_readers(source_, indices_, i);
      plans_[i] = {};
    }
  }

  /// The config of layer `i`, whose activation layer `clamp` becomes.
  ConfigPtr config_of(std::size_t i, std::size_t clamp) const {
    const Plan& plan = plans_[i];
    if (plan.own_config || plan.result_only || !(is_factor_[i] || is_factor_[clamp])) {
      return plan.config;
    }
    return std::make_shared<const FactorConfig>(plan.config->options());
  }

  /// How the result of layer `i` is quantized by a layer of its own.
  QuantSpec spec_of(std::size_t i) const {
    QuantSpec spec = activation_spec(options_);
    spec.symmetric = spec.symmetric || is_factor_[i];
    return spec;
  }

  /// Adds a layer that reads `inputs` to the quantized model.
  Result added(std::unique_ptr<Layer> layer, const std::vector<Result>& inputs) {
    std::vector<Value> values;
    std::vector<ValueForm> forms;
    for (const Result& input : inputs) {
      values.push_back(input.value);
      forms.push_back(input.form);
    }
    const Layer& placed = *layer;
    const Value value = result_.add_built(std::move(layer), values);
    if (is_input(placed)) return {value, {}};
    Program program = program_of(placed);
    decide_forms(program, forms);
    return {value, program.values[program.outputs.front()].form};
  }

  /// The inputs of layer `i`: integers where it computes on them.
  std::vector<Result> inputs_of(std::size_t i) {
    const bool is_quantized = plans_[i].config != nullptr && !plans_[i].result_only;
    const ResultRule rule =
        is_quantized ? result_rule(*source_.layers()[i], plans_[i].config->options().rounding)
                     : ResultRule::unknown;
    std::vector<Result> inputs;
    for (const std::size_t input : source_.inputs_of(i)) {
      const bool anew = is_quantized && needs_quantize_layer(results_[input].form, rule) &&
                        !reads_indices(*source_.layers()[i]);
      inputs.push_back(anew ? integers_of(input) : results_[input]);
    }
    return inputs;
  }

  /// The result of layer `i` behind a QuantizeLayer, one for all that read it.
  const Result& integers_of(std::size_t i) {
    if (!integers_[i]) {
      integers_[i] = added(std::make_unique<QuantizeLayer>(
                               default_activation_quantizer(options_, spec_of(i)), options_),
                           {results_[i]});
    }
    return *integers_[i];
  }

  const Model& source_;
  std::vector<Plan> plans_;
  QuantizeOptions options_;
  Model result_;
  // By layer of the source.
  /// Whether its result is looked up as indices.
  std::vector<bool> indices_;
  /// Whether BATCH_MATMUL reads the result as its second operand.
  std::vector<bool> is_factor_;
  /// The layer behind it that becomes its activation.
  std::vector<std::optional<std::size_t>> clamps_;
  std::vector<Result> results_;
  /// Whether it became part of the layer that it reads.
  std::vector<bool> fused_;
  /// The name of the layer of the result that it became.
  std::vector<std::string> added_;
  /// What a QuantizeLayer makes of its result.
  std::vector<std::optional<Result>> integers_;
};

}  // namespace

void require_float_model(const Model& model, std::string_view operation) {
  model.require_built(operation);
  for (const auto& layer : model.layers()) {
    if (!layer->is_quantized()) continue;
    throw InvalidArgument(
        fmt::format("{}: expected a float model, found \"{}\", whose layer \"{}\" is quantized "
                    "already; give it the model in front of quantize_model()",
                    operation, model.name(), layer->name()));
  }
}

Model quantize_model(const Model& model, const QuantizeOptions& options) {
  require_float_model(model, "quantize_model");
  require_no_marks(model, "quantize_model");
  static_cast<void>(default_8bit(options));
  const auto wants_quantization = [](const Layer& layer) { return !layer.quantization().in_float; };
  const Model source = with_folded_batch_norm(model, options.batch_norm, wants_quantization);
  std::vector<Plan> plans;
  for (std::size_t i = 0; i < source.layers().size(); ++i) {
    // A layer that is used once more has its plan already.
    if (source.used_layer(i) != i) {
      plans.push_back(plans[source.used_layer(i)]);
      continue;
    }
    const Layer& layer = *source.layers()[i];
    const bool stays = is_input(layer) || !wants_quantization(layer);
    plans.push_back(stays ? Plan{} : plan_of(layer, options, "quantize_model"));
  }
  return Quantization(source, std::move(plans), options).run();
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
  std::vector<Plan> plans(source.layers().size());
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
  return Quantization(source, std::move(plans), options).run();
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
