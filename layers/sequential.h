#pragma once

#include <octet/layers/input.h>
#include <octet/layers/layer.h>

#include <concepts>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace octet {

class Archive;

/// How much summary() shows.
enum class Detail { layers, quantization };

/// A network in which each layer feeds the next.
///
///     Sequential model("mnist", Input({784}), Dense(128, Activation::relu),
///                      Dense(10, Activation::softmax));
///     model.build(/*seed=*/0);
class Sequential {
 public:
  explicit Sequential(std::string name = "sequential") : name_(std::move(name)) {}

  template <class... Layers>
  requires(sizeof...(Layers) > 0 && (std::derived_from<std::decay_t<Layers>, Layer> &&
                                     ...)) explicit Sequential(std::string name, Layers&&... layers)
      : Sequential(std::move(name)) {
    (add(std::forward<Layers>(layers)), ...);
  }

  /// A copy shares nothing with the original.
  Sequential(const Sequential& other);
  Sequential& operator=(const Sequential& other);
  Sequential(Sequential&&) noexcept = default;
  Sequential& operator=(Sequential&&) noexcept = default;
  ~Sequential() = default;

  const std::string& name() const { return name_; }

  /// Appends a layer. Throws InvalidArgument for a name that is taken.
  template <std::derived_from<Layer> L>
  Sequential& add(L layer) {
    return add(std::unique_ptr<Layer>(std::make_unique<L>(std::move(layer))));
  }
  Sequential& add(std::unique_ptr<Layer> layer);

  /// Makes all tensors; every layer draws from its own stream of `seed`. Called again, starts
  /// anew. Throws InvalidArgument unless the first layer is an Input.
  void build(std::uint64_t seed = 0);
  bool built() const;

  /// Shapes without the batch axis.
  const Shape& input_shape() const;
  const Shape& output_shape() const;

  /// x is [batch, input_shape...].
  Tensor forward(const Tensor& x, const ForwardContext& context = {}) const;
  /// The same without a final softmax: what softmax_cross_entropy() takes.
  Tensor forward_logits(const Tensor& x, const ForwardContext& context = {}) const;
  bool ends_in_softmax() const;

  const std::vector<std::unique_ptr<Layer>>& layers() const { return layers_; }
  /// The layer of that name. Throws InvalidArgument where there is none.
  Layer& layer(std::string_view name) const;

  /// All tensors of all layers, named "layer/tensor".
  std::vector<NamedTensor> parameters() const;
  std::vector<NamedTensor> state() const;
  std::vector<NamedTensor> counters() const;
  void zero_grad() const;

  /// A table as Keras prints it; with Detail::quantization, each state value follows its layer.
  /// Throws InvalidArgument before build().
  std::string summary(Detail detail = Detail::layers) const;

  /// Parameters, state and counters in one file, written to a temporary one and renamed. Where
  /// architecture_json() can describe the model, so does the file: load_model() needs no other.
  /// Throws IoError.
  void save(const std::filesystem::path& path) const;
  /// Throws IoError, or FormatError where the file is broken or its names or shapes differ; the
  /// model is then unchanged.
  void load(const std::filesystem::path& path);

  /// What save() writes, "layer/tensor".
  std::vector<NamedTensor> saved_tensors() const;
  /// The part of load() after reading.
  void restore(const Archive& archive);

 private:
  std::vector<NamedTensor> gather(std::vector<NamedTensor> (Layer::*list)() const) const;
  std::string automatic_name(std::string_view type) const;
  void require_built(std::string_view operation) const;

  std::string name_;
  std::vector<std::unique_ptr<Layer>> layers_;
};

}  // namespace octet
