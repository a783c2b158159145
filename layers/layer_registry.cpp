#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/layer_registry.h>

#include <algorithm>

namespace octet {
namespace {

/// The marks of quantized() and in_float().
LayerQuantization quantization_from(const Description& description) {
  LayerQuantization own;
  if (description.has("weight_bits")) {
    const Index bits = description.integer("weight_bits");
    if (bits < 2 || bits > 8) {
      throw FormatError(fmt::format("description: expected 2 to 8 weight bits, found {}", bits));
    }
    own.weight_bits = static_cast<int>(bits);
  }
  if (description.has("per_channel")) own.per_channel = description.flag("per_channel");
  own.in_float = description.has("in_float") && description.flag("in_float");
  return own;
}

}  // namespace

Description describe_layer(const Layer& layer) {
  layer_registry().check(layer);
  if (layer.annotation() != nullptr) {
    throw InvalidArgument(
        fmt::format("layer \"{}\": its annotation holds a QuantizeConfig, which no file can hold",
                    layer.name()));
  }
  Description description;
  layer.describe(description);
  const auto refuse_reserved = [&](const char* reserved) {
    if (!description.has(reserved)) return;
    throw InvalidArgument(
        fmt::format("layer \"{}\": describe() of {} writes an entry \"{}\", which the file has for "
                    "itself; give it another name",
                    layer.name(), layer.type(), reserved));
  };
  std::ranges::for_each(kLayerIdentity, refuse_reserved);
  std::ranges::for_each(kLayerMarks, refuse_reserved);
  description.set("type", layer.type()).set("name", layer.name());
  if (layer.is_annotated()) description.set("annotated", true);
  const LayerQuantization& own = layer.quantization();
  if (own.weight_bits) description.set("weight_bits", *own.weight_bits);
  if (own.per_channel) description.set("per_channel", *own.per_channel);
  if (own.in_float) description.set("in_float", true);
  return description;
}

std::unique_ptr<Layer> make_layer(const Description& description) {
  std::unique_ptr<Layer> layer = layer_registry().make(description.text("type"), description);
  layer->set_name(description.text("name"));
  if (const LayerQuantization own = quantization_from(description); own != LayerQuantization{}) {
    layer->set_quantization(own);
  }
  if (description.has("annotated") && description.flag("annotated")) layer->annotate(nullptr);
  return layer;
}

}  // namespace octet
