#include <fmt/format.h>
#include <octet/layers/layer_registry.h>
#include <octet/layers/layers.h>

namespace octet {
namespace {

/// The registry with Octet's own layers.
class LayerRegistry : public Registry<Layer> {
 public:
  LayerRegistry() : Registry<Layer>("layer", "register_layer") { add_all(OwnLayers{}); }

 private:
  template <class... L>
  void add_all(LayerTypes<L...> /*types*/) {
    (add<L>(std::string(L::kType), L::make), ...);
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
