#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/layers/activation.h>
#include <octet/layers/input.h>
#include <octet/layers/program/program.h>
#include <octet/layers/quantize/model_passes.h>
#include <octet/layers/quantize/program_passes.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/quantize/quantized_copy.h>
#include <octet/layers/quantize/result_configs.h>
#include <octet/layers/quantize/result_rule.h>
#include <octet/layers/quantize/second_factors.h>
#include <octet/layers/quantize/step_rules.h>
#include <octet/layers/reused_layer.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace octet {
namespace {

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

/// Builds the quantized copy of a model, layer by layer.
class QuantizedCopy {
 public:
  QuantizedCopy(const Model& source, std::vector<QuantizationPlan> plans,
                const QuantizeOptions& options)
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
      if (!fused_[i]) results_[i] = copied(i);
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

  Result copied(std::size_t i) {
    if (source_.used_layer(i) != i) return used_again(i);
    return plans_[i].config == nullptr ? left_in_float(i) : wrapped(i);
  }

  std::unique_ptr<Layer> clone(std::size_t i) const {
    return clone_of(*source_.layers()[i], source_.layers()[i]->name());
  }

  Result used_again(std::size_t i) {
    const std::size_t used = source_.used_layer(i);
    const Result again = added(
        std::make_unique<ReusedLayer>(added_[used], source_.layers()[i]->name()), inputs_of(i));
    return {again.value, results_[used].form};
  }

  Result left_in_float(std::size_t i) {
    added_[i] = source_.layers()[i]->name();
    const Result result = added(clone(i), inputs_of(i));
    const bool is_examples = is_input(*source_.layers()[i]) && !indices_[i];
    return is_examples ? behind_quantize(result, default_input_quantizer(options_, spec_of(i)))
                       : result;
  }

  Result wrapped(std::size_t i) {
    const std::size_t clamp = clamps_[i].value_or(i);
    std::unique_ptr<Layer> copy = with_clamp(i, clamp);
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

  /// A copy of layer `i` that ends in the activation that layer `clamp` is; of `i` itself where
  /// that is `i`.
  std::unique_ptr<Layer> with_clamp(std::size_t i, std::size_t clamp) const {
    std::unique_ptr<Layer> copy = clone(i);
    if (clamp != i) copy->end_in(source_.layers()[clamp]->activation());
    return copy;
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
  std::shared_ptr<const QuantizeConfig> config_of(std::size_t i, std::size_t clamp) const {
    const QuantizationPlan& plan = plans_[i];
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
      integers_[i] =
          behind_quantize(results_[i], default_activation_quantizer(options_, spec_of(i)));
    }
    return *integers_[i];
  }

  /// Inserts a QuantizeLayer.
  Result behind_quantize(const Result& value, std::unique_ptr<Quantizer> quantizer) {
    return added(std::make_unique<QuantizeLayer>(std::move(quantizer), options_), {value});
  }

  const Model& source_;
  std::vector<QuantizationPlan> plans_;
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

Model quantized_copy(const Model& source, std::vector<QuantizationPlan> plans,
                     const QuantizeOptions& options) {
  return QuantizedCopy(source, std::move(plans), options).run();
}

}  // namespace octet
