#include <fmt/format.h>
#include <octet/import/onnx/channels.h>
#include <octet/layers/layer_normalization.h>

namespace octet::detail::onnx_import {
namespace {

/// Input `i`, a value for each of `features`, as a tensor that the layer calls `name`.
void add_learned(Weights& weights, const Builder& builder, const Node& node, std::size_t i,
                 const char* name, Index features) {
  const Constant* values = builder.constant(node, i);
  if (values == nullptr) return;
  if (values->shape != Shape{features}) {
    refuse("expected {} of [{}] as input {}, found {}", name, features, i,
           values->shape.to_string());
  }
  weights.emplace_back(name, Tensor::from({features}, values->floats()));
}

/// Octet's is over the last axis.
Imported import_layer_normalization(Builder& builder, const Node& node) {
  const Imported given = builder.ordered(node, builder.value(node, 0));
  const std::int64_t axis = node.integer("axis", -1);
  if (example_axis(axis, given) != given.logical.rank() - 1) {
    refuse("expected a normalization over the last axis of {}, found axis {}",
           written(given.onnx_extents()), axis);
  }
  const Imported x = with_last_axis_last(builder, node, given);
  Weights weights;
  add_learned(weights, builder, node, 1, "gamma", given.logical.dim(-1));
  add_learned(weights, builder, node, 2, "beta", given.logical.dim(-1));
  auto layer = std::make_unique<LayerNormalization>(
      LayerNormalizationOptions{.epsilon = node.real("epsilon", 1e-5F),
                                .center = builder.is_constant(node, 2),
                                .scale = builder.is_constant(node, 1)});
  Imported result = builder.add(node, std::move(layer), {x}, x.axes, std::move(weights));
  result.logical = x.logical;
  result.batch = x.batch;
  return result;
}

constexpr std::array<Operator, 1> kNormalizations = {
    {{"LayerNormalization", import_layer_normalization}}};

}  // namespace

std::span<const Operator> normalization_operators() { return kNormalizations; }

}  // namespace octet::detail::onnx_import
