#include <fmt/format.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/layers/dropout.h>
#include <octet/layers/quantize/annotated_layer.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/quantize_output_wrapper.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/reshape.h>

#include <algorithm>
#include <functional>

namespace octet {
namespace {

using ConfigPtr = std::shared_ptr<const QuantizeConfig>;

/// Quantizes a result and leaves the kernel alone: for layers in front of a marked one. What they
/// read is on no grid, so a ReLU6 has none to keep.
class ResultOnlyConfig : public Default8BitQuantizeConfig {
 public:
  using Default8BitQuantizeConfig::Default8BitQuantizeConfig;
  std::unique_ptr<Quantizer> kernel_quantizer(const Layer& /*layer*/) const override {
    return nullptr;
  }
  std::unique_ptr<Quantizer> output_quantizer(const Layer& layer) const override {
    const bool has_no_grid = clamps_input_codes(layer, options().rounding);
    return has_no_grid ? activation_quantizer(layer)
                       : Default8BitQuantizeConfig::output_quantizer(layer);
  }
};

template <class T>
const T* as(const Layer& layer) {
  return dynamic_cast<const T*>(&layer);
}

bool is_known(const Layer& layer) {
  return as<Dense>(layer) || as<ActivationLayer>(layer) || as<Reshape>(layer) || as<Dropout>(layer);
}

bool is_wrapped(const Layer& layer) {
  return as<QuantizeLayer>(layer) || as<QuantizeWrapper>(layer) || as<QuantizeOutputWrapper>(layer);
}

/// A layer of the source model and how it is to be quantized: not at all without a config.
struct Plan {
  const Layer* layer;
  ConfigPtr config;
  /// Whether the user gave the config to this very layer.
  bool own_config = false;
};

std::unique_ptr<Layer> wrap(std::unique_ptr<Layer> layer, const Plan& plan) {
  if (auto* dense = dynamic_cast<Dense*>(layer.get())) {
    static_cast<void>(layer.release());
    return std::make_unique<QuantizeWrapper>(std::unique_ptr<Dense>(dense), plan.config);
  }
  auto wrapper = std::make_unique<QuantizeOutputWrapper>(std::move(layer), plan.config);
  // Before it is trained, since lower() would refuse it afterwards.
  if (plan.own_config) require_exportable_clamp(*wrapper);
  return wrapper;
}

/// The clamp that `next` computes, where it can become the activation of the Dense layer of `plan`.
Activation fusible_activation(const Plan& plan, const Plan* next) {
  const auto* dense = as<Dense>(*plan.layer);
  const auto* activation = next == nullptr ? nullptr : as<ActivationLayer>(*next->layer);
  if (dense == nullptr || dense->activation() != Activation::none || activation == nullptr ||
      next->config == nullptr || quantizes_before(activation->activation())) {
    return Activation::none;
  }
  // A config of its own says how the clamp's result is quantized; that of the Dense would win.
  if (next->own_config && next->config != plan.config) return Activation::none;
  return activation->activation();
}

/// Whether the result of a planned layer is on a grid.
bool is_on_grid(const Plan& plan) {
  return plan.config != nullptr || as<InputLayer>(*plan.layer) != nullptr;
}

void check_source(const Sequential& model, std::string_view operation) {
  if (!model.built()) {
    throw InvalidArgument(
        fmt::format("{}: expected a built model, found \"{}\" without tensors; call build() first",
                    operation, model.name()));
  }
  for (const auto& layer : model.layers()) {
    if (is_wrapped(*layer)) {
      throw InvalidArgument(fmt::format(
          "{}: expected a float model, found \"{}\", whose layer \"{}\" is quantized already",
          operation, model.name(), layer->name()));
    }
  }
}

void check_known(const Layer& layer, std::string_view operation) {
  if (!is_known(layer)) {
    throw InvalidArgument(
        fmt::format("{}: layer \"{}\" of type {} has no default scheme; mark it with "
                    "quantize_annotate_layer() and a QuantizeConfig of your own",
                    operation, layer.name(), layer.type()));
  }
}

Sequential build_quantized(const Sequential& source, const std::vector<Plan>& plans,
                           const QuantizeOptions& options) {
  Sequential result(source.name());
  // Copies are built already and keep their weights; what is new is built on what stands in front.
  const auto add = [&result](std::unique_ptr<Layer> layer) {
    result.add(std::move(layer));
    const auto& layers = result.layers();
    Layer& added = *layers.back();
    if (!added.built()) added.build(layers[layers.size() - 2]->output_shape(), Random());
  };
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const Plan& plan = plans[i];
    std::unique_ptr<Layer> copy = plan.layer->clone();
    if (plan.config == nullptr) {
      const bool is_input = as<InputLayer>(*copy) != nullptr;
      add(std::move(copy));
      if (is_input) add(std::make_unique<QuantizeLayer>(options));
      continue;
    }
    const Plan* next = i + 1 < plans.size() ? &plans[i + 1] : nullptr;
    const Activation fused = fusible_activation(plan, next);
    if (fused != Activation::none) {
      copy = dynamic_cast<const Dense&>(*copy).with_activation(fused);
      ++i;
    }
    add(wrap(std::move(copy), plan));
  }
  return result;
}

/// How a marked layer is quantized.
Plan plan_of(const AnnotatedLayer& marked, const ConfigPtr& by_default,
             std::string_view operation) {
  if (marked.config()) return {&marked.wrapped(), marked.config(), true};
  check_known(marked.wrapped(), operation);
  return {&marked.wrapped(), by_default};
}

void for_each_quantizer(const Sequential& model, const std::function<void(Quantizer&)>& apply) {
  for (const auto& layer : model.layers()) {
    for (Quantizer* quantizer : layer->quantizers()) apply(*quantizer);
  }
}

}  // namespace

Sequential quantize_model(const Sequential& model, const QuantizeOptions& options) {
  check_source(model, "quantize_model");
  const ConfigPtr config = default_8bit(options);
  std::vector<Plan> plans;
  for (const auto& layer : model.layers()) {
    if (const auto* marked = as<AnnotatedLayer>(*layer)) {
      plans.push_back(plan_of(*marked, config, "quantize_model"));
    } else if (as<InputLayer>(*layer)) {
      plans.push_back({layer.get(), nullptr});
    } else {
      check_known(*layer, "quantize_model");
      plans.push_back({layer.get(), config});
    }
  }
  return build_quantized(model, plans, options);
}

std::unique_ptr<Layer> quantize_annotate_layer(std::unique_ptr<Layer> layer, ConfigPtr config) {
  if (layer == nullptr || as<AnnotatedLayer>(*layer) || is_wrapped(*layer) ||
      as<InputLayer>(*layer)) {
    throw InvalidArgument(fmt::format(
        "quantize_annotate_layer: expected a layer to quantize, found {}",
        layer == nullptr ? "null" : fmt::format("\"{}\" ({})", layer->name(), layer->type())));
  }
  return std::make_unique<AnnotatedLayer>(std::move(layer), std::move(config));
}

Sequential quantize_apply(const Sequential& model, const QuantizeOptions& options) {
  check_source(model, "quantize_apply");
  const ConfigPtr config = default_8bit(options);
  std::vector<Plan> plans;
  bool any_marked = false;
  for (const auto& layer : model.layers()) {
    const auto* marked = as<AnnotatedLayer>(*layer);
    if (marked == nullptr) {
      plans.push_back({layer.get(), nullptr});
      continue;
    }
    any_marked = true;
    const bool feeds = !plans.empty() && plans.back().config == nullptr;
    if (feeds && is_known(*plans.back().layer)) {
      const bool reads_codes = plans.size() > 1 && is_on_grid(plans[plans.size() - 2]);
      plans.back().config = reads_codes && !as<Dense>(*plans.back().layer)
                                ? config
                                : std::make_shared<ResultOnlyConfig>(options);
    }
    plans.push_back(plan_of(*marked, config, "quantize_apply"));
  }
  if (!any_marked) {
    throw InvalidArgument(fmt::format(
        "quantize_apply: expected a layer marked with quantize_annotate_layer(), found none in "
        "\"{}\"; use quantize_model() to quantize all",
        model.name()));
  }
  return build_quantized(model, plans, options);
}

void calibrate(const Sequential& model, const Tensor& features) {
  no_grad(
      [&] { return model.forward_logits(features, {.mode = ForwardContext::Mode::calibration}); });
}

void refresh_kernel_ranges(const Sequential& model) {
  for (const auto& layer : model.layers()) {
    if (auto* wrapper = dynamic_cast<QuantizeWrapper*>(layer.get())) {
      wrapper->refresh_kernel_range();
    }
  }
}

void freeze_ranges(const Sequential& model, bool frozen) {
  for (const auto& layer : model.layers()) {
    const auto* wrapper = as<QuantizeWrapper>(*layer);
    for (Quantizer* quantizer : layer->quantizers()) {
      // A kernel keeps moving, so its range has to follow it.
      const bool is_kernel = wrapper != nullptr && quantizer == wrapper->kernel_quantizer();
      if (!is_kernel) quantizer->freeze(frozen);
    }
  }
}

void enable_quantization(const Sequential& model, bool enabled) {
  for_each_quantizer(model, [enabled](Quantizer& quantizer) { quantizer.enable(enabled); });
}

bool is_quantized(const Sequential& model) {
  return std::ranges::any_of(model.layers(), [](const auto& layer) { return is_wrapped(*layer); });
}

bool has_ranges(const Sequential& model) {
  bool all = true;
  for_each_quantizer(model, [&all](Quantizer& quantizer) { all = all && quantizer.has_range(); });
  return all;
}

}  // namespace octet
