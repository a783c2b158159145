#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/strides.h>
#include <octet/import/weights/weight_layout.h>

#include <algorithm>
#include <numeric>

namespace octet::detail {
namespace {

using Order = std::vector<Index>;

/// By position in [..., channels], row-major: the position in [channels, ...].
Order channels_first(const Shape& shape) {
  const Index channels = shape.dim(-1);
  const Index pixels = channels == 0 ? 0 : shape.size() / channels;
  Order order;
  for (Index pixel = 0; pixel < pixels; ++pixel) {
    for (Index c = 0; c < channels; ++c) order.push_back((c * pixels) + pixel);
  }
  return order;
}

/// Where a framework that flattens images channels first has the values that layer `i` gives, a
/// vector: by our position theirs; empty where both count alike.
Order flattened_order(const Model& model, std::size_t i) {
  const Layer& layer = *model.layers()[i];
  if (layer.output_shape().rank() != 1 || model.inputs_of(i).empty()) return {};
  const std::vector<std::size_t>& inputs = model.inputs_of(i);
  const Shape& read = layer.input_shape();
  if (inputs.size() == 1 && read.rank() > 1 && read.size() == layer.output_shape().size()) {
    return channels_first(read);
  }
  if (layer.weights() && layer.weights()->unit_axis == 1) return {};  // its units are new values
  if (read == layer.output_shape()) return flattened_order(model, inputs.front());
  // What is left of layers with vectors: a concatenation.
  Order joined;
  bool moves = false;
  for (const std::size_t input : inputs) {
    const auto size = static_cast<std::size_t>(model.layers()[input]->output_shape().size());
    Order order = flattened_order(model, input);
    moves = moves || !order.empty();
    if (order.empty()) {
      order.resize(size);
      std::iota(order.begin(), order.end(), Index{0});
    }
    const auto offset = static_cast<Index>(joined.size());
    for (const Index position : order) joined.push_back(offset + position);
  }
  if (!moves) return {};
  if (std::ssize(joined) != layer.output_shape().size()) {
    throw InvalidArgument(
        fmt::format("PyTorch's weights: layer \"{}\" of type {} takes a part of images that were "
                    "flattened channels first, so that it takes other values than the framework of "
                    "the file; set flatten_channels_first to false, or let it read the images",
                    layer.name(), layer.type()));
  }
  return joined;
}

WeightLayout as_it_is(const Shape& shape) { return {shape, row_major_strides(shape)}; }

/// A kernel as PyTorch lays it out; see load_weights().
WeightLayout pytorch_kernel(const Shape& s, const LayerWeights& weights) {
  if (!weights.convolution) {
    if (s.rank() == 2) return {{s[1], s[0]}, {1, s[0]}};
  } else if (s.rank() == 3) {
    if (weights.depthwise) return {{s[1] * s[2], 1, s[0]}, {1, s[2] * s[0], s[0]}};
    return {{s[2], s[1], s[0]}, {1, s[0], s[1] * s[0]}};
  } else if (s.rank() == 4) {
    const Index area = s[0] * s[1];
    if (weights.depthwise) return {{s[2] * s[3], 1, s[0], s[1]}, {s[1], 1, s[3] * area, area}};
    // A transposed convolution too: its last axes are filters and channels in both.
    return {{s[3], s[2], s[0], s[1]}, {s[1], 1, area, s[2] * area}};
  }
  return as_it_is(s);
}

WeightLayout pytorch_layout(const Model& model, std::size_t i, const NamedTensor& tensor,
                            const WeightRules& rules) {
  const Layer& layer = *model.layers()[i];
  const std::optional<LayerWeights> weights = layer.weights();
  const bool kernel = tensor.name == "kernel" && weights.has_value();
  WeightLayout layout =
      kernel ? pytorch_kernel(tensor.tensor.shape(), *weights) : as_it_is(tensor.tensor.shape());
  const bool dense = kernel && !weights->convolution;
  const bool per_value = !weights && tensor.tensor.shape() == layer.input_shape();
  if (rules.flatten_channels_first && (dense || per_value)) {
    layout.rows = flattened_order(model, model.inputs_of(i).front());
    if (layout.rows.size() != static_cast<std::size_t>(tensor.tensor.dim(0))) layout.rows.clear();
  }
  return layout;
}

/// Calls `visit` with the position of each element of the slot's tensor in the file's.
template <class Visit>
void each_position(const WeightSlot& slot, Visit visit) {
  const Shape& shape = slot.tensor.shape();
  const auto rank = static_cast<std::size_t>(shape.rank());
  std::vector<Index> index(rank, 0);
  for (Index element = 0; element < shape.size(); ++element) {
    Index position = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const bool moved = axis == 0 && !slot.layout.rows.empty();
      const Index at = moved ? slot.layout.rows[static_cast<std::size_t>(index[0])] : index[axis];
      position += at * slot.layout.strides[axis];
    }
    visit(static_cast<std::size_t>(element), static_cast<std::size_t>(position));
    for (std::size_t axis = rank; axis-- > 0;) {
      if (++index[axis] < shape[static_cast<Index>(axis)]) break;
      index[axis] = 0;
    }
  }
}

}  // namespace

std::vector<WeightSlot> weight_slots(const Model& model, const WeightRules& rules,
                                     std::string_view operation) {
  if (!model.built()) {
    throw InvalidArgument(fmt::format("{}: model \"{}\" has no tensors yet; call build() first",
                                      operation, model.name()));
  }
  std::vector<WeightSlot> slots;
  for (std::size_t i = 0; i < model.layers().size(); ++i) {
    const Layer& layer = *model.layers()[i];
    if (rules.names != WeightNames::octet && layer.is_quantized()) {
      throw InvalidArgument(
          fmt::format("{}: expected a float model, found layer \"{}\", which is quantized; load "
                      "the weights first, then call quantize_model()",
                      operation, layer.name()));
    }
    std::vector<NamedTensor> tensors = layer.parameters();
    append(tensors, layer.state());
    for (const NamedTensor& tensor : tensors) {
      WeightLayout layout = rules.names == WeightNames::pytorch
                                ? pytorch_layout(model, i, tensor, rules)
                                : as_it_is(tensor.tensor.shape());
      slots.push_back({layer.name(), tensor.name, tensor.tensor, std::move(layout)});
    }
  }
  return slots;
}

Tensor from_file_layout(const Tensor& values, const WeightSlot& slot) {
  Tensor result(slot.tensor.shape());
  const std::span<float> to = result.mutable_span();
  const std::span<const float> from = values.span();
  each_position(slot, [&](std::size_t element, std::size_t at) { to[element] = from[at]; });
  return result;
}

Tensor to_file_layout(const WeightSlot& slot) {
  Tensor result(slot.layout.file_shape);
  const std::span<float> to = result.mutable_span();
  const Tensor& tensor = slot.tensor;
  const std::span<const float> from = tensor.span();
  each_position(slot, [&](std::size_t element, std::size_t at) { to[at] = from[element]; });
  return result;
}

}  // namespace octet::detail
