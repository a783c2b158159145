#pragma once

#include <octet/layers/model.h>

namespace octet {

/// A network in which each layer feeds the next.
///
///     Sequential model("mnist", Input({784}), Dense(128, Activation::relu),
///                      Dense(10, Activation::softmax));
///     model.build(/*seed=*/0);
class Sequential : public Model {
 public:
  explicit Sequential(std::string name = "sequential") : Model(std::move(name)) {}

  template <class... Layers>
  requires(sizeof...(Layers) > 0 && (IsLayers<std::decay_t<Layers>> &&
                                     ...)) explicit Sequential(std::string name, Layers&&... layers)
      : Sequential(std::move(name)) {
    (add(std::forward<Layers>(layers)), ...);
  }

  /// The chain that `model` is. Throws InvalidArgument where it is none.
  Sequential(Model model);  // NOLINT(google-explicit-constructor): a chain is a chain

  /// Appends a layer. Throws InvalidArgument for a name that is taken.
  template <std::derived_from<Layer> L>
  Sequential& add(L layer) {
    return add(std::unique_ptr<Layer>(std::make_unique<L>(std::move(layer))));
  }
  Sequential& add(std::unique_ptr<Layer> layer);
  /// Appends the layers of a chain.
  Sequential& add(LayerChain chain);

  // The graph of a chain is given by its order.
  Value input(Shape example_shape, std::string name = "") = delete;
  void output(const Value& value) = delete;

 protected:
  std::string_view kind() const override { return "Sequential"; }
};

}  // namespace octet
