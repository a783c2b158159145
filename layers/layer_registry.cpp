#include <fmt/format.h>
#include <octet/layers/add.h>
#include <octet/layers/concatenate.h>
#include <octet/layers/dense.h>
#include <octet/layers/dropout.h>
#include <octet/layers/input.h>
#include <octet/layers/layer_registry.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/reshape.h>

namespace octet {
namespace {

/// The registry with Octet's own layers.
class LayerRegistry : public Registry<Layer> {
 public:
  LayerRegistry() : Registry<Layer>("layer", "register_layer") {
    add<InputLayer>("InputLayer", [](const Description& d) {
      return std::make_unique<InputLayer>(d.shape("shape"));
    });
    add<Dense>("Dense", [](const Description& d) {
      return std::make_unique<Dense>(d.integer("units"), parse_activation(d.text("activation")),
                                     DenseOptions{.use_bias = d.flag("use_bias")});
    });
    add<ActivationLayer>("Activation", [](const Description& d) {
      return std::make_unique<ActivationLayer>(parse_activation(d.text("activation")));
    });
    add<ReLU>("ReLU", [](const Description&) { return std::make_unique<ReLU>(); });
    add<ReLU6>("ReLU6", [](const Description&) { return std::make_unique<ReLU6>(); });
    add<Softmax>("Softmax", [](const Description&) { return std::make_unique<Softmax>(); });
    add<Dropout>("Dropout", [](const Description& d) {
      return std::make_unique<Dropout>(static_cast<float>(d.number("rate")));
    });
    add<Reshape>("Reshape",
                 [](const Description& d) { return std::make_unique<Reshape>(d.shape("target")); });
    add<Flatten>("Flatten", [](const Description&) { return std::make_unique<Flatten>(); });
    add<Add>("Add", [](const Description& d) {
      return std::make_unique<Add>(parse_activation(d.text("activation")));
    });
    add<Concatenate>("Concatenate", [](const Description& d) {
      return std::make_unique<Concatenate>(d.integer("axis"));
    });
    add<QuantizeLayer>("QuantizeLayer", QuantizeLayer::make);
    add<QuantizeWrapper>("QuantizeWrapper", QuantizeWrapper::make);
  }
};

}  // namespace

Registry<Layer>& layer_registry() {
  static LayerRegistry registry;
  return registry;
}

Description describe_layer(const Layer& layer) {
  layer_registry().check(layer);
  if (layer.annotation() != nullptr) {
    throw InvalidArgument(
        fmt::format("layer \"{}\": its annotation holds a QuantizeConfig, which no file can hold",
                    layer.name()));
  }
  Description description;
  layer.describe(description);
  description.set("type", layer.type()).set("name", layer.name());
  if (layer.is_annotated()) description.set("annotated", true);
  return description;
}

std::unique_ptr<Layer> make_layer(const Description& description) {
  std::unique_ptr<Layer> layer = layer_registry().make(description.text("type"), description);
  layer->set_name(description.text("name"));
  if (description.has("annotated") && description.flag("annotated")) layer->annotate(nullptr);
  return layer;
}

}  // namespace octet
