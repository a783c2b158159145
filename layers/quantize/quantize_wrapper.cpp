#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/activation.h>
#include <octet/layers/layer_registry.h>
#include <octet/layers/lowering.h>
#include <octet/layers/quantize/config_description.h>
#include <octet/layers/quantize/integer_ops.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/quantize/quantizer_registry.h>
#include <octet/layers/quantize/tensor_codes.h>

#include <algorithm>
#include <utility>

namespace octet {
namespace {

using detail::TensorAccess;

/// A function of one input with a grid of its own.
ActivationLayer function_of(const Layer& layer) {
  ActivationLayer function(layer.activation(), layer.name());
  function.build(layer.output_shape(), Random());
  return function;
}

bool all_on_grids(std::span<const Tensor> inputs) {
  return std::ranges::all_of(inputs,
                             [](const Tensor& x) { return TensorAccess::grid(x) != nullptr; });
}

Tensor as_images(const Tensor& x) {
  return x.reshape(images_of(x.shape().without_batch()).with_batch(x.dim(0)));
}

/// x, whose range is `factor` times that of the quantizer, fake-quantized.
Tensor widened(const Quantizer& quantizer, const Tensor& x, float factor) {
  if (factor == 1.0F) return quantizer.fake_quant(x);
  return quantizer.fake_quant(x * (1.0F / factor)) * factor;
}

}  // namespace

QuantizeWrapper::QuantizeWrapper(std::unique_ptr<Layer> layer,
                                 std::shared_ptr<const QuantizeConfig> config)
    : Layer(layer == nullptr || layer->name().empty() ? "" : "quant_" + layer->name()),
      layer_(std::move(layer)),
      has_kernel_(layer_ != nullptr && layer_->weights().has_value()),
      config_(std::move(config)) {
  if (layer_ == nullptr || config_ == nullptr) {
    throw InvalidArgument("QuantizeWrapper: expected a layer and a QuantizeConfig, found null");
  }
  if (has_kernel()) {
    kernel_ = config_->kernel_quantizer(*layer_);
    result_ = config_->activation_quantizer(*layer_);
    const QuantizeOptions& options = config_->options();
    if (kernel_ && (options.count_oscillations || options.freeze_oscillations_above != 0.0F)) {
      oscillation_ = std::make_unique<WeightOscillation>(options.freeze_oscillations_above);
    }
    return;
  }
  result_ = config_->output_quantizer(*layer_);
  if (result_ && layer_->ends_in_softmax()) {
    throw InvalidArgument(fmt::format(
        "layer \"{}\": expected no quantizer for the output of a softmax, whose codes are steps of "
        "1/256, found one in its QuantizeConfig",
        layer_->name()));
  }
}

QuantizeWrapper::QuantizeWrapper(const QuantizeWrapper& other)
    : Layer(other),
      layer_(clone_of(*other.layer_, other.name())),
      has_kernel_(other.has_kernel_),
      needs_images_(other.needs_images_),
      config_(other.config_),
      kernel_(clone_of(other.kernel_)),
      oscillation_(other.oscillation_ ? std::make_unique<WeightOscillation>(*other.oscillation_)
                                      : nullptr),
      result_(clone_of(other.result_)) {}

Shape QuantizeWrapper::do_build_all(std::span<const Shape> input_shapes, const Random& random) {
  // Wrapping a trained layer keeps its weights; building the wrapper anew does not.
  if (!layer_->built() || built()) layer_->build_all(input_shapes, random);
  needs_images_ = has_kernel() && needs_images(*layer_);
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
  if (in_integers()) {
    for (const Quantizer* quantizer : quantizers()) quantizer->require_learnable();
  }
  tie_inputs();
  return layer_->output_shape();
}

bool QuantizeWrapper::in_integers() const {
  return config_->options().simulation == Simulation::integer;
}

/// Reals on the grid of `quantizer`, rounded as a QUANTIZE of the contract rounds them.
Tensor QuantizeWrapper::simulated(const Quantizer& quantizer, const Tensor& x) const {
  const QuantizeOptions& options = config_->options();
  return quantizer.simulate(x, options.simulation, quantize_mode(options.rounding));
}

/// Whether an input, a parameter of the wrapped layer or one of a quantizer wants a gradient.
bool QuantizeWrapper::wants_gradient(std::span<const Tensor> inputs) const {
  std::vector<Tensor> tensors(inputs.begin(), inputs.end());
  for (const auto& [name, tensor] : parameters()) tensors.push_back(tensor);
  return records_gradient(tensors);
}

/// A function whose results have a grid of their own, as softmax: by its operators where `x` lies
/// on a grid of int8 codes, else in float.
std::vector<Tensor> QuantizeWrapper::fixed_grid(Layer& function, const Tensor& x,
                                                const ForwardContext& context) const {
  const bool on_codes = in_integers() && TensorAccess::grid(x) != nullptr && !on_int16_grid(x);
  Tensor real;
  if (!on_codes || wants_gradient({&x, 1})) real = function.forward(x, {});
  std::vector<Tensor> steps = {real};
  if (on_codes) {
    steps = integer_operators(function, {&x, 1}, real, std::nullopt, config_->options().rounding,
                              name());
  }
  keep_logits(activation(), steps.back(), x, context);
  return steps;
}

/// Inputs of one grid, one behind the other. While training, ranges move between the first input
/// and the last: what was quantized before is put on the grid as it is now. Where a Dropout has
/// widened an input, the steps of all are as wide as the widest, so that nothing is clipped.
std::vector<Tensor> QuantizeWrapper::joined(std::span<const Tensor> inputs,
                                            const ForwardContext& context) const {
  const Quantizer* shared = result_quantizer();
  if (shared == nullptr) {
    throw InvalidArgument(fmt::format(
        "{}: expected inputs whose grids can be made one, found a first one that is not "
        "quantized",
        name()));
  }
  if (!shared->has_range() || !shared->enabled()) return {layer_->forward_all(inputs, context)};
  const float widest = range_factor(context);
  auto grid = std::make_shared<QuantParams>(shared->params());
  for (float& scale : grid->scales) scale *= widest;
  std::vector<Tensor> aligned;
  std::vector<Tensor> steps;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& own = TensorAccess::grid(inputs[i]);
    const bool lies_on_it = own != nullptr && *own == *grid;
    aligned.push_back(lies_on_it       ? inputs[i]
                      : widest == 1.0F ? simulated(*shared, inputs[i])
                      : in_integers()
                          ? put_on_grid(inputs[i], grid, quantize_mode(config_->options().rounding))
                          : widened(*shared, inputs[i], inputs_[i]->range_factor(context)));
    // lower() writes a QUANTIZE for it.
    if (own != nullptr && !lies_on_it) steps.push_back(aligned.back());
  }
  steps.push_back(layer_->forward_all(aligned, context));
  if (in_integers() && all_on_grids(aligned)) {
    steps.back() = integer_operator(*layer_, aligned, steps.back(), std::nullopt,
                                    config_->options().rounding, name());
  }
  return steps;
}

/// The result where the config has no quantizer for it.
std::vector<Tensor> QuantizeWrapper::unmeasured(std::span<const Tensor> inputs,
                                                const ForwardContext& context) const {
  const bool on_codes = in_integers() && all_on_grids(inputs);
  switch (grid()) {
    case ResultGrid::as_inputs:
      return joined(inputs, context);
    case ResultGrid::fixed:
      if (context.logits && ends_in_softmax()) return {inputs[0]};
      return fixed_grid(*layer_, inputs[0], context);
    case ResultGrid::clamps:
      if (!on_codes) break;
      return integer_operators(*layer_, inputs, layer_->forward_all(inputs, context),
                               *TensorAccess::grid(inputs[0]), config_->options().rounding, name());
    case ResultGrid::as_input: {
      const Tensor real = layer_->forward_all(inputs, context);
      // A layer that leaves all codes as they are, as Reshape and Dropout do, says so itself.
      if (!on_codes || TensorAccess::grid(real) != nullptr) return {real};
      return integer_operators(*layer_, inputs, real, std::nullopt, config_->options().rounding,
                               name());
    }
    case ResultGrid::measured:
    case ResultGrid::unknown:
      break;
  }
  return {layer_->forward_all(inputs, context)};
}

std::vector<Tensor> QuantizeWrapper::without_kernel(std::span<const Tensor> inputs,
                                                    const ForwardContext& context) {
  if (!result_) return unmeasured(inputs, context);
  const bool by_operator =
      in_integers() && all_on_grids(inputs) && result_->enabled() && grid() == ResultGrid::measured;
  Tensor real;
  if (!by_operator || context.observes() || wants_gradient(inputs)) {
    real = layer_->forward_all(inputs, context);
  }
  result_->watch(real, context);
  if (!by_operator) {
    Tensor y = simulated(*result_, real);
    // As the sigmoid's own result has them.
    if (const Tensor& logits = detail::TensorAccess::logits(real); logits.defined()) {
      keep_logits(activation(), y, logits, context);
    }
    return {y};
  }
  return integer_operators(*layer_, inputs, real, result_->params(), config_->options().rounding,
                           name(), result_->learned_range());
}

std::vector<Tensor> QuantizeWrapper::forward_steps(std::span<const Tensor> inputs,
                                                   const ForwardContext& context) {
  require_inputs(inputs);
  if (!has_kernel()) return without_kernel(inputs, context);
  std::vector<Tensor> steps = with_kernel(inputs[0], context);
  // lower() writes a RESHAPE in front of and behind a convolution of other examples than images; in
  // reals, what counts is the result.
  if (kernel_ && result_ && needs_images_) {
    const Tensor& y = steps.back();
    steps = {as_images(inputs[0]), as_images(y), y};
  }
  const bool leaves_out = context.logits && ends_in_softmax();
  if (quantizes_before(activation()) && !leaves_out) {
    ActivationLayer function = function_of(*layer_);
    steps.push_back(fixed_grid(function, steps.back(), context).back());
  }
  return steps;
}

std::int32_t QuantizeWrapper::lower(Lowering& lowering,
                                    std::span<const std::int32_t> inputs) const {
  lowering.require_codes(*this);
  const bool reads_codes =
      std::ranges::none_of(inputs, [&](std::int32_t input) { return lowering.is_real(input); });
  Lowering::Scheme scheme{.owner = name(),
                          .rounding = config_->options().rounding,
                          .clamps_at_zero = clamps_at_zero(activation())};
  if (result_) scheme.result = result_->params();
  if (has_kernel()) {
    scheme.in_reals = !kernel_ || !result_;
    scheme.before_function = quantizes_before(activation());
    if (kernel_ && scheme.in_reals) {
      scheme.real_kernel = kernel_->fake_quant(layer_->weights()->kernel.detach());
    } else if (kernel_) {
      scheme.kernel = kernel_->params();
    }
  } else {
    scheme.in_reals = !operators_on_codes(reads_codes);
    if (grid() == ResultGrid::clamps && !scheme.in_reals) {
      scheme.result = lowering.tensor(inputs[0]).quantization;
    }
  }
  const bool joins = grid() == ResultGrid::as_inputs && !scheme.in_reals;
  lowering.quantize(std::move(scheme));
  std::vector<std::int32_t> read(inputs.begin(), inputs.end());
  if (const Quantizer* shared = joins ? result_quantizer() : nullptr) {
    for (std::int32_t& input : read) input = lowering.on_grid(input, shared->params());
  }
  return lowering.quantize_result(layer_->lower(lowering, read));
}

/// Whether a layer without a kernel becomes operators on codes, as without_kernel() simulates it.
bool QuantizeWrapper::operators_on_codes(bool reads_codes) const {
  switch (grid()) {
    case ResultGrid::measured:
      return result_ != nullptr && reads_codes;
    case ResultGrid::unknown:
      return false;
    case ResultGrid::as_inputs:
      return result_ == nullptr;
    case ResultGrid::fixed:
    case ResultGrid::as_input:
    case ResultGrid::clamps:
      return result_ == nullptr && reads_codes;
  }
  throw InvalidArgument(fmt::format("layer \"{}\": a ResultGrid outside the enumeration", name()));
}

std::vector<Quantizer*> QuantizeWrapper::quantizers() const {
  std::vector<Quantizer*> result;
  if (kernel_) result.push_back(kernel_.get());
  if (result_) result.push_back(result_.get());
  return result;
}

std::vector<Layer*> QuantizeWrapper::parts() const {
  std::vector<Layer*> parts = layer_->parts();
  return parts.empty() ? std::vector{layer_.get()} : parts;
}

std::vector<NamedTensor> QuantizeWrapper::parameters() const {
  std::vector<NamedTensor> all = layer_->parameters();
  for (const Quantizer* quantizer : quantizers()) append(all, quantizer->parameters());
  return all;
}

std::vector<NamedTensor> QuantizeWrapper::state() const {
  std::vector<NamedTensor> all = layer_->state();
  for (const Quantizer* quantizer : quantizers()) append(all, quantizer->state());
  return all;
}

std::vector<NamedTensor> QuantizeWrapper::counters() const {
  std::vector<NamedTensor> all = layer_->counters();
  for (const Quantizer* quantizer : quantizers()) append(all, quantizer->counters());
  if (oscillation_) {
    for (const auto& [name, tensor] : oscillation_->counters()) {
      all.push_back({"kernel_" + name, tensor});
    }
  }
  return all;
}

void QuantizeWrapper::describe(Description& description) const {
  description.set("layer", describe_layer(*layer_)).set("config", describe_config(*config_));
  if (kernel_) description.set("kernel", octet::describe(kernel_.get()));
  if (result_) description.set("result", octet::describe(result_.get()));
}

std::unique_ptr<Layer> QuantizeWrapper::make(const Description& description) {
  const auto quantizer = [&](std::string_view key) {
    return description.has(key) ? quantizer_in(description, key) : nullptr;
  };
  std::unique_ptr<Layer> layer = make_layer(description.part("layer"));
  return std::make_unique<QuantizeWrapper>(
      std::move(layer), given_quantizers(options_from(description.part("config")),
                                         quantizer("kernel"), quantizer("result")));
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
  const bool clamps =
      wrapper.result_grid(wrapper.config().options().rounding) == ResultGrid::clamps;
  if (wrapper.activation_quantizer() == nullptr || !clamps) return;
  throw InvalidArgument(fmt::format(
      "layer \"{}\": expected no quantizer for the output of a ReLU6 of its own under rounding "
      "double, found one in its QuantizeConfig; the RELU6 of TFLite Micro clamps codes without "
      "rescaling them. Leave it to the default scheme, which keeps the scale of its input, make it "
      "the activation of the Dense in front, or use a ReLU",
      wrapper.wrapped().name()));
}

}  // namespace octet
