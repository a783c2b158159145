#pragma once

#include <octet/core/description.h>
#include <octet/core/registry.h>
#include <octet/layers/layer.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace octet {

/// The most layers of a model that is saved. A name is compared with all before it, so that time
/// grows with the square of this.
inline constexpr std::size_t kMostLayers = 10000;

/// The classes of layers that files may name; Octet's own are there from the start.
Registry<Layer>& layer_registry();

/// Lets files name your class L, under what its type() says: models with such layers are then
/// saved, loaded and resumed. `make` makes a layer from what L::describe() wrote. Throws
/// InvalidArgument for a name that stands for another class.
///
///     register_layer<Scale>("Scale", [](const Description& d) {
///       return std::make_unique<Scale>(d.number("factor"));
///     });
template <std::derived_from<Layer> L>
void register_layer(std::string type, Registry<Layer>::Factory make) {
  layer_registry().add<L>(std::move(type), std::move(make));
}

/// What files hold of every layer, whatever its class.
inline constexpr auto kLayerIdentity = std::to_array<const char*>({"type", "name", "inputs"});

/// What describe_layer() writes only of how quantize_model() and quantize_apply() are to quantize a
/// layer.
inline constexpr auto kLayerMarks =
    std::to_array<const char*>({"annotated", "weight_bits", "per_channel", "in_float"});

/// A layer's type, name and annotation with what it says of itself, without any tensor. Throws
/// InvalidArgument, naming the layer, for a class that is not registered, and for an annotation
/// that holds a QuantizeConfig.
Description describe_layer(const Layer& layer);

/// The layer that describe_layer() described, not built yet. Throws FormatError for anything else.
std::unique_ptr<Layer> make_layer(const Description& description);

}  // namespace octet
