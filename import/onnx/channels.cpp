#include <octet/import/channel_affine.h>
#include <octet/import/onnx/channels.h>
#include <octet/layers/position_embedding.h>

#include <algorithm>
#include <iterator>

namespace octet::detail::onnx_import {
namespace {

/// The axis of examples along which a constant varies that broadcasts to `x`; -1 for one value.
/// Throws for any other constant.
Index varying_axis(const Constant& constant, const Imported& x) {
  // The constant's axes are the last ones of ONNX's.
  const Index ahead = x.onnx_rank() - constant.shape.rank();
  Index found = -1;
  for (Index i = 0; i < constant.shape.rank(); ++i) {
    if (constant.shape[i] == 1) continue;
    const Index place = ahead + i;
    const bool fits = place >= 0 && place != x.onnx_batch() && found < 0;
    const Index axis = fits ? example_axis(place, x) : -1;
    if (axis < 0 || constant.shape[i] != x.logical[axis]) {
      refuse(
          "expected a constant of one value, or of one for each index of one axis of {}, found "
          "{}",
          x.logical.to_string(), constant.shape.to_string());
    }
    found = axis;
  }
  return found;
}

}  // namespace

Imported elementwise(Builder& builder, const Node& node, std::unique_ptr<Layer> layer,
                     const Imported& x, bool not_negative, Weights weights) {
  Imported result = builder.add(node, std::move(layer), {x}, x.axes, std::move(weights));
  result.logical = x.logical;
  result.batch = x.batch;
  result.flattened = x.flattened;
  result.not_negative = not_negative;
  return result;
}

Imported of_two(Builder& builder, const Node& node, std::unique_ptr<Layer> layer, const Imported& a,
                const Imported& b, bool not_negative) {
  Imported result = builder.add(node, std::move(layer), {a, b}, a.axes);
  result.logical = a.logical;
  result.batch = a.batch;
  result.flattened = a.flattened;
  result.not_negative = not_negative;
  return result;
}

Imported function_of(Builder& builder, const Node& node, UnaryFunction function,
                     const Imported& x) {
  return elementwise(builder, node, std::make_unique<MathFunction>(function), x,
                     function != UnaryFunction::log);
}

Imported affine(Builder& builder, const Node& node, const Imported& x, Tensor gamma, Tensor beta) {
  const auto all = [](const Tensor& tensor, float value) {
    return std::ranges::all_of(tensor.span(), [value](float v) { return v == value; });
  };
  if (all(gamma, 1.0F) && all(beta, 0.0F)) return x;
  const auto not_negative = [](const Tensor& tensor) {
    return std::ranges::all_of(tensor.span(), [](float v) { return v >= 0.0F; });
  };
  const bool stays = x.not_negative && not_negative(gamma) && not_negative(beta);
  LayerWithTensors made = channel_affine(std::move(gamma), std::move(beta));
  Weights weights;
  for (NamedTensor& tensor : made.tensors) weights.emplace_back(tensor.name, tensor.tensor);
  return elementwise(builder, node, std::move(made.layer), x, stays, std::move(weights));
}

Imported scaled(Builder& builder, const Node& node, const Imported& x, float by) {
  const Index channels = x.physical.rank() == 0 ? 1 : x.physical.dim(-1);
  return affine(builder, node, x, Tensor::full({channels}, by), Tensor::zeros({channels}));
}

Node part_of(const Node& node, std::string_view part) {
  Node made = node;
  made.name += part;
  return made;
}

Imported with_channels(Builder& builder, const Node& node, const Imported& x,
                       const Constant& constant) {
  const Index axis = varying_axis(constant, x);
  return axis < 0 ? x : with_axis_last(builder, node, x, axis);
}

Imported with_axis_last(Builder& builder, const Node& node, const Imported& x, Index axis) {
  if (x.axes.back() == axis) return x;
  std::vector<Index> axes;
  std::ranges::copy_if(x.axes, std::back_inserter(axes), [&](Index one) { return one != axis; });
  axes.push_back(axis);
  return builder.arranged(node, x, axes);
}

Imported with_last_axis_last(Builder& builder, const Node& node, const Imported& x) {
  return with_axis_last(builder, node, x, x.logical.rank() - 1);
}

Imported with_positions(Builder& builder, const Node& node, const Imported& given,
                        const Constant& constant) {
  const Imported x = builder.arranged(node, given, {0, 1});
  auto layer = std::make_unique<PositionEmbedding>();
  Imported result = elementwise(builder, node, std::move(layer), x, false,
                                {{"embeddings", Tensor::from(x.logical, constant.floats())}});
  return result;
}

Tensor channels_of(const Constant& constant, const Imported& x) {
  const Index channels = x.physical.rank() == 0 ? 0 : x.physical.dim(-1);
  const std::vector<float>& values = constant.floats();
  const bool flat = x.flattened.has_value() && values.size() > 1;
  const std::vector<Index> order = flat ? x.order() : std::vector<Index>();
  Tensor result({channels});
  for (Index c = 0; c < channels; ++c) {
    const Index from = values.size() == 1 ? 0 : flat ? order[at(c)] : c;
    result.mutable_data()[c] = values.at(at(from));
  }
  return result;
}

}  // namespace octet::detail::onnx_import
