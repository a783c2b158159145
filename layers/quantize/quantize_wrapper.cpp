#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/activation.h>
#include <octet/layers/layer_registry.h>
#include <octet/layers/program/program.h>
#include <octet/layers/quantize/config_description.h>
#include <octet/layers/quantize/integer_ops.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/quantize/quantizer_registry.h>
#include <octet/layers/quantize/result_rule.h>
#include <octet/layers/quantize/step_rules.h>

#include <algorithm>
#include <utility>

namespace octet {

QuantizeWrapper::QuantizeWrapper(std::unique_ptr<Layer> layer,
                                 std::shared_ptr<const QuantizeConfig> config)
    : Layer(layer == nullptr || layer->name().empty() ? "" : "quant_" + layer->name()),
      layer_(std::move(layer)),
      has_kernel_(layer_ != nullptr && layer_->weights().has_value()),
      config_(std::move(config)) {
  if (layer_ == nullptr || config_ == nullptr) {
    throw InvalidArgument("QuantizeWrapper: expected a layer and a QuantizeConfig, found null");
  }
  layer_->quantize_for(config_->options().rounding);
  set_activation(layer_->activation());
  if (has_kernel()) {
    kernel_ = config_->kernel_quantizer(*layer_);
    result_ = config_->activation_quantizer(*layer_);
    const QuantizeOptions& options = config_->options();
    if (kernel_ && (options.count_oscillations || options.freeze_oscillations_above != 0.0F)) {
      oscillation_ = std::make_unique<WeightOscillation>(options.freeze_oscillations_above);
    }
    return;
  }
  // What its operators are is known once their shapes are.
  if (layer_->built()) make_result_quantizer();
}

/// Makes the quantizer that the config gives the result of a layer without a kernel.
void QuantizeWrapper::make_result_quantizer() {
  result_ = config_->output_quantizer(*layer_);
  if (result_ && layer_->ends_in_softmax()) {
    throw InvalidArgument(fmt::format(
        "layer \"{}\": expected no quantizer for the output of a softmax, whose scale is fixed at "
        "1/256, found one in its QuantizeConfig",
        layer_->name()));
  }
}

QuantizeWrapper::QuantizeWrapper(const QuantizeWrapper& other)
    : Layer(other),
      layer_(clone_of(*other.layer_, other.name())),
      has_kernel_(other.has_kernel_),
      config_(other.config_),
      kernel_(clone_of(other.kernel_)),
      oscillation_(other.oscillation_ ? std::make_unique<WeightOscillation>(*other.oscillation_)
                                      : nullptr),
      result_(clone_of(other.result_)),
      inner_trains_(other.inner_trains_),
      described_inner_(other.described_inner_) {
  for (const auto& quantizer : other.inner_) inner_.push_back(clone_of(quantizer));
}

void QuantizeWrapper::make_tensors(std::span<const Shape> input_shapes, const Random& random) {
  // Wrapping a trained layer keeps its weights; building the wrapper anew does not.
  if (!layer_->built() || built()) layer_->build_all(input_shapes, random);
  require_linear_alone();
  if (!has_kernel() && !result_) make_result_quantizer();
  if (kernel_) {
    require_sound_kernel();
    kernel_->build(name() + "/kernel", "kernel_", layer_->weights()->kernel.shape(),
                   Quantizer::ZeroPoint::hidden);
    require_freezable();
    if (oscillation_) oscillation_->build(layer_->weights()->kernel.shape());
  }
  if (result_) {
    const std::string prefix = !has_kernel()                    ? "output_"
                               : quantizes_before(activation()) ? "pre_activation_"
                                                                : "post_activation_";
    const std::string owner = has_kernel() ? prefix + "range" : "output";
    result_->build(name() + "/" + owner, prefix, layer_->output_shape(),
                   Quantizer::ZeroPoint::kept);
  }
  build_inner_quantizers();
  if (in_integers()) {
    for (const Quantizer* quantizer : quantizers()) quantizer->require_learnable();
  }
}

Shape QuantizeWrapper::result_shape(std::span<const Shape> /*input_shapes*/) const {
  return layer_->output_shape();
}

bool QuantizeWrapper::in_integers() const {
  return config_->options().simulation == Simulation::integer;
}

/// Throws InvalidArgument for a layer with a kernel whose steps are not that of Graph::linear():
/// the rest of them would be lost where a batch normalization or an activation becomes part of it.
void QuantizeWrapper::require_linear_alone() const {
  if (!has_kernel() || is_linear_alone(*layer_)) return;
  throw InvalidArgument(
      fmt::format("layer \"{}\" of type {}: expected emit() of a layer that has weights() to be "
                  "Graph::linear() "
                  "and nothing else, found other operators; let layers of their own compute these",
                  layer_->name(), layer_->type()));
}

/// The position of the step whose result the quantizer of the layer's result measures: the step in
/// front of a softmax, sigmoid or tanh that ends a layer with a kernel.
std::size_t QuantizeWrapper::step_of_result(std::span<const Step> steps, ResultRule rule) const {
  const std::size_t last = steps.size() - 1;
  if (!has_kernel()) {
    const auto measures = [&](const Step& step) {
      return step.kind != Step::Kind::parameter &&
             measures_result(step, config_->options().rounding);
    };
    const auto found = std::find_if(steps.rbegin(), steps.rend(), measures);
    const bool is_last = rule != ResultRule::measured || found == steps.rend();
    return is_last ? last : static_cast<std::size_t>(steps.rend() - found) - 1;
  }
  if (kernel_) {
    const auto found = std::ranges::find(steps, Step::Kind::linear, &Step::kind);
    return static_cast<std::size_t>(found - steps.begin());
  }
  return quantizes_before(activation()) ? last - 1 : last;
}

/// Whether a step computes as the config says; the others compute in floats.
bool QuantizeWrapper::is_quantized_step(const Step& step, bool gives_result, bool is_behind,
                                        ResultRule rule) const {
  if (step.kind == Step::Kind::function) return gives_result && result_;
  if (has_kernel()) return kernel_ || !result_ || gives_result || is_behind;
  // A config may quantize an output whose operator fixes the scale: its steps then run in float.
  if (result_) return rule == ResultRule::measured || gives_result;
  return rule != ResultRule::measured && rule != ResultRule::unknown;
}

namespace {

/// What a step keeps of its operators: that of the step before it in time which computes the same;
/// null for one with weights, which change.
std::shared_ptr<PreparedStep> prepared_for(const Step& step, std::span<const Step> earlier) {
  if (step.kind != Step::Kind::op) return nullptr;
  if (step.range_key) {
    const auto repeats = [&step](const Step& other) {
      return other.range_key == step.range_key && other.kind == step.kind &&
             other.code == step.code && other.attributes == step.attributes &&
             other.numbers == step.numbers && other.scheme != nullptr;
    };
    const auto found = std::ranges::find_if(earlier, repeats);
    if (found != earlier.end()) return found->scheme->prepared;
  }
  return make_prepared_step();
}

}  // namespace

std::vector<GraphValue> QuantizeWrapper::emit(Graph& graph,
                                              std::span<const GraphValue> inputs) const {
  const std::size_t first = graph.step_count();
  std::vector<GraphValue> results = graph.emit(*layer_, inputs);
  if (result_ && graph.step_count() == first) results = {graph.quantize(results.front())};
  const std::span<Step> steps = graph.steps_from(first);
  if (steps.empty()) return results;
  const ResultRule rule = result_rule(*layer_, config_->options().rounding);
  const std::size_t of_result = step_of_result(steps, rule);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Step& step = steps[i];
    if (!is_quantized_step(step, i == of_result, i > of_result, rule)) continue;
    step.scheme =
        std::make_shared<StepScheme>(StepScheme{.owner = name(),
                                                .options = &config_->options(),
                                                .result = i == of_result ? result_.get() : nullptr,
                                                .prepared = prepared_for(step, steps.first(i))});
    if (step.kind != Step::Kind::linear) continue;
    step.scheme->kernel = kernel_.get();
    step.scheme->oscillation = oscillation_.get();
  }
  give_inner_quantizers(steps, of_result, rule);
  return results;
}

std::optional<LayerQuantizers> QuantizeWrapper::quantized_by() const {
  LayerQuantizers by{
      .kernel = kernel_.get(),
      .result = has_kernel() && quantizes_before(activation()) ? nullptr : result_.get(),
      .contract = config_->options().rounding};
  if (kernel_) by.all.push_back(kernel_.get());
  if (result_) by.all.push_back(result_.get());
  for (const auto& quantizer : inner_) {
    if (quantizer) by.all.push_back(quantizer.get());
  }
  return by;
}

LayerTensors QuantizeWrapper::tensors() const {
  LayerTensors all = layer_->tensors();
  all.parts.push_back(layer_.get());
  for (const Quantizer* quantizer : quantizers()) all.append(quantizer->tensors());
  if (oscillation_) {
    for (const auto& [name, tensor] : oscillation_->counters()) {
      all.counters.push_back({"kernel_" + name, tensor});
    }
  }
  return all;
}

void QuantizeWrapper::describe(Description& description) const {
  description.set("layer", describe_layer(*layer_)).set("config", describe_config(*config_));
  if (kernel_) description.set("kernel", octet::describe(kernel_.get()));
  if (result_) description.set("result", octet::describe(result_.get()));
  if (described_inner_) description.set("inner", *described_inner_);
  if (described_inner_ || inner_.empty()) return;
  Description inner;
  for (const auto& quantizer : inner_) {
    if (quantizer) inner.set(quantizer->prefix(), octet::describe(quantizer.get()));
  }
  description.set("inner", inner);
}

std::unique_ptr<Layer> QuantizeWrapper::make(const Description& description) {
  const auto quantizer = [&](std::string_view key) {
    return description.has(key) ? quantizer_in(description, key) : nullptr;
  };
  std::unique_ptr<Layer> layer = make_layer(description.part("layer"));
  auto wrapper = std::make_unique<QuantizeWrapper>(
      std::move(layer), given_quantizers(options_from(description.part("config")),
                                         quantizer("kernel"), quantizer("result")));
  // Without a kernel its own would be made when it is built.
  if (!wrapper->has_kernel()) wrapper->result_ = quantizer("result");
  if (description.has("inner")) wrapper->described_inner_ = description.part("inner");
  return wrapper;
}

std::unique_ptr<Layer> QuantizeWrapper::clone() const {
  return std::make_unique<QuantizeWrapper>(*this);
}

QuantizeWrapper* as_quantize_wrapper(Layer& layer) {
  return dynamic_cast<QuantizeWrapper*>(&layer);
}

const QuantizeWrapper* as_quantize_wrapper(const Layer& layer) {
  return dynamic_cast<const QuantizeWrapper*>(&layer);
}

void require_exportable_clamp(const QuantizeWrapper& wrapper) {
  const Rounding rounding = wrapper.config().options().rounding;
  const bool clamps = result_rule(wrapper.wrapped(), rounding) == ResultRule::clamps;
  if (wrapper.activation_quantizer() == nullptr || !clamps) return;
  throw InvalidArgument(fmt::format(
      "layer \"{}\": expected no quantizer for the output of a ReLU6 of its own under rounding "
      "double, found one in its QuantizeConfig; the RELU6 of TFLite Micro clamps without "
      "rescaling. Leave it to the default scheme, which keeps the scale of its input, make it "
      "the activation of the Dense in front, or use a ReLU",
      wrapper.wrapped().name()));
}

}  // namespace octet
