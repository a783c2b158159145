#pragma once

#include <octet/layers/layer.h>

#include <concepts>
#include <memory>
#include <utility>
#include <vector>

namespace octet {

/// Layers, each reading the one before it, that are added to a model in one go. The model then
/// holds the layers; nothing of the chain is left.
///
///     LayerChain block(Conv2D(32, 3), BatchNorm(), ReLU());
///     x = model.add(std::move(block), x);
class LayerChain {
 public:
  template <std::derived_from<Layer>... L>
  requires(sizeof...(L) > 0) explicit LayerChain(L... layers) {
    (layers_.push_back(std::make_unique<L>(std::move(layers))), ...);
  }

  std::vector<std::unique_ptr<Layer>>&& layers() && { return std::move(layers_); }

 private:
  std::vector<std::unique_ptr<Layer>> layers_;
};

/// What stands in the list of a Sequential's layers.
template <class T>
concept IsLayers = std::derived_from<T, Layer> || std::derived_from<T, LayerChain>;

}  // namespace octet
