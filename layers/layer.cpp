#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/layers/activation_function.h>
#include <octet/layers/layer.h>

#include <algorithm>

namespace octet {

void Layer::build_all(std::span<const Shape> input_shapes, const Random& random) {
  if (input_shapes.empty()) {
    throw InvalidArgument(
        fmt::format("{} \"{}\": expected at least one input, found none", type(), name_));
  }
  make_tensors(input_shapes, random);
  output_shape_ = result_shape(input_shapes);
  input_shapes_.assign(input_shapes.begin(), input_shapes.end());
  built_ = true;
}

const Shape& Layer::input_shape() const {
  require_built();
  return input_shapes_.front();
}

const Shape& Layer::output_shape() const {
  require_built();
  return output_shape_;
}

void Layer::require_built() const {
  if (built_) return;
  throw InvalidArgument(fmt::format(
      "{} \"{}\": expected a layer with its tensors, found one that was not built; call "
      "build(), or that of its model",
      type(), name_));
}

void Layer::require_inputs(std::span<const Tensor> inputs) const {
  require_built();
  const auto fail = [this](const std::string& what) {
    throw InvalidArgument(fmt::format("{} \"{}\": expected {}", type(), name_, what));
  };
  if (inputs.size() != input_shapes_.size()) {
    fail(fmt::format("{} inputs, found {}", input_shapes_.size(), inputs.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Shape& found = inputs[i].shape();
    const Shape& expected = input_shapes_[i];
    if (found.rank() != expected.rank() + 1 ||
        !std::equal(expected.begin(), expected.end(), found.begin() + 1)) {
      fail(fmt::format("input {} of shape [batch, {}], found {}", i,
                       fmt::join(expected.begin(), expected.end(), ", "), found.to_string()));
    }
    if (found[0] != inputs[0].dim(0)) {
      fail(fmt::format("inputs of one batch size, found {} of input 0 and {} of input {}",
                       inputs[0].dim(0), found[0], i));
    }
  }
}

void Layer::make_tensors(std::span<const Shape> /*input_shapes*/, const Random& /*random*/) {}

Index Layer::counted_axis(const Shape& examples, Index axis) const {
  if (axis >= -examples.rank() && axis < examples.rank()) return examples.normalize_axis(axis);
  throw InvalidArgument(fmt::format(
      "{} \"{}\": expected an axis of examples {}, found {}; the batch axis is not counted", type(),
      name_, examples.to_string(), axis));
}

bool Layer::ends_in_softmax() const { return activation() == Activation::softmax; }

bool Layer::can_end_in(Activation activation) const {
  return takes_clamps_ && activation_ == Activation::none && !quantizes_before(activation);
}

void Layer::end_in(Activation activation) {
  if (!can_end_in(activation)) {
    throw InvalidArgument(
        fmt::format("{} \"{}\": expected a clamp for a layer that can end in one and has none, "
                    "found {} for one "
                    "that ends in {}; add an activation layer after it",
                    type(), name_, to_string(activation), to_string(activation_)));
  }
  activation_ = activation;
  for (Layer* part : tensors().parts) {
    if (part->can_end_in(activation)) part->end_in(activation);
  }
}

void Layer::set_activation(Activation activation, bool takes_clamps) {
  static_cast<void>(to_string(activation));  // Throws where it has no name.
  activation_ = activation;
  takes_clamps_ = takes_clamps;
}

bool Layer::trainable() const {
  return std::ranges::all_of(parameters(),
                             [](const NamedTensor& named) { return named.tensor.requires_grad(); });
}

void Layer::set_trainable(bool value) {
  if (!built_) {
    throw InvalidArgument(fmt::format(
        "set_trainable: {} \"{}\" has no parameters yet; build() the model first", type(), name_));
  }
  for (auto& [name, tensor] : parameters()) tensor.set_requires_grad(value);
}

void Layer::annotate(std::shared_ptr<const QuantizeConfig> config) {
  annotated_ = true;
  annotation_ = std::move(config);
}

void Layer::remove_annotation() {
  annotated_ = false;
  annotation_ = nullptr;
  quantization_ = {};
}

void Layer::set_quantization(const LayerQuantization& quantization) {
  if (annotation_ != nullptr) {
    throw InvalidArgument(fmt::format(
        "{} \"{}\": expected a layer without a QuantizeConfig of its own, found one that "
        "was marked with it; the config says how the layer is quantized",
        type(), name_));
  }
  quantization_ = quantization;
  annotated_ = !quantization.in_float;
}

void Layer::describe(Description& /*description*/) const {}

std::optional<LayerQuantizers> Layer::quantized_by() const { return std::nullopt; }
bool Layer::is_quantized() const { return quantized_by().has_value(); }
std::optional<Rounding> Layer::contract() const {
  return quantized_by().value_or(LayerQuantizers()).contract;
}
std::vector<Quantizer*> Layer::quantizers() const {
  return quantized_by().value_or(LayerQuantizers()).all;
}
Quantizer* Layer::kernel_quantizer() const {
  return quantized_by().value_or(LayerQuantizers()).kernel;
}
Quantizer* Layer::result_quantizer() const {
  return quantized_by().value_or(LayerQuantizers()).result;
}

Index count_elements(const std::vector<NamedTensor>& tensors) {
  Index total = 0;
  for (const NamedTensor& named : tensors) total += named.tensor.size();
  return total;
}

void LayerTensors::append(const LayerTensors& more) {
  octet::append(parameters, more.parameters);
  octet::append(state, more.state);
  octet::append(counters, more.counters);
  parts.insert(parts.end(), more.parts.begin(), more.parts.end());
}

void append(std::vector<NamedTensor>& list, const std::vector<NamedTensor>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

void fail_null_clone(std::string_view owner) {
  throw InvalidArgument(
      fmt::format("clone() of \"{}\": expected a copy, found null; a class of your own returns "
                  "std::make_unique of itself from *this",
                  owner));
}

Layer* find_part(const Layer& layer, std::string_view name) {
  const std::vector<Layer*> parts = layer.tensors().parts;
  const auto found = std::ranges::find(parts, name, &Layer::name);
  return found == parts.end() ? nullptr : *found;
}

Tensor clone_leaf(const Tensor& source) {
  if (!source.defined()) return {};
  Tensor copy = source.clone();
  copy.set_requires_grad(source.requires_grad());
  return copy;
}

}  // namespace octet
