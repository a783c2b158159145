#include <octet/import/onnx/channels.h>
#include <octet/layers/position_embedding.h>

#include <algorithm>
#include <iterator>

namespace octet::detail::onnx_import {
namespace {

/// The axis of examples along which a constant varies that broadcasts to `logical`; -1 for one
/// value. Throws for any other constant.
Index varying_axis(const Constant& constant, const Shape& logical) {
  // The constant's axes are the last ones of [batch, logical...].
  const Index ahead = logical.rank() - constant.shape.rank();
  Index found = -1;
  for (Index i = 0; i < constant.shape.rank(); ++i) {
    if (constant.shape[i] == 1) continue;
    const Index axis = ahead + i;
    if (axis < 0 || found >= 0 || constant.shape[i] != logical[axis]) {
      refuse(
          "expected a constant of one value, or of one for each index of one axis of {}, found "
          "{}",
          logical.to_string(), constant.shape.to_string());
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
  result.flattened = x.flattened;
  result.not_negative = not_negative;
  return result;
}

Imported with_channels(Builder& builder, const Node& node, const Imported& x,
                       const Constant& constant) {
  const Index axis = varying_axis(constant, x.logical);
  if (axis < 0 || x.axes.back() == axis) return x;
  std::vector<Index> axes;
  std::ranges::copy_if(x.axes, std::back_inserter(axes), [&](Index one) { return one != axis; });
  axes.push_back(axis);
  return builder.arranged(node, x, axes);
}

Imported with_last_axis_last(Builder& builder, const Node& node, const Imported& x) {
  const Index last = x.logical.rank() - 1;
  std::vector<Index> axes;
  std::ranges::copy_if(x.axes, std::back_inserter(axes), [&](Index axis) { return axis != last; });
  axes.push_back(last);
  return builder.arranged(node, x, axes);
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
