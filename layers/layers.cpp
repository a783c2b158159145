#include <octet/layers/layer_registry.h>
#include <octet/layers/layers.h>

#include <string>

namespace octet {
namespace {

/// The registry with Octet's own layers. It stands here, and not beside its declaration, so that
/// layers that hold others can ask for it without knowing every layer.
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

}  // namespace octet
