#include <octet/import/onnx/builder.h>
#include <octet/layers/add.h>
#include <octet/layers/concatenate.h>
#include <octet/layers/multiply.h>

#include <algorithm>

namespace octet::detail::onnx_import {
namespace {

/// Returns both inputs with their axes in one order, that of the input with more axes.
std::vector<Imported> matched(Builder& builder, const Node& node) {
  const Imported& a = builder.input(node, 0);
  const Imported& b = builder.input(node, 1);
  if (a.logical.rank() != b.logical.rank() || a.flattened != b.flattened) {
    refuse("expected two values of the same axes, found {} and {} (without the batch)",
           a.logical.to_string(), b.logical.to_string());
  }
  const bool first = a.physical.rank() >= b.physical.rank();
  const std::vector<Index>& axes = first ? a.axes : b.axes;
  return {builder.arranged(node, a, axes), builder.arranged(node, b, axes)};
}

Imported add_merge(Builder& builder, const Node& node, std::unique_ptr<Layer> layer) {
  const std::vector<Imported> inputs = matched(builder, node);
  std::vector<Index> logical;
  for (Index i = 0; i < inputs[0].logical.rank(); ++i) {
    logical.push_back(std::max(inputs[0].logical[i], inputs[1].logical[i]));
  }
  Imported result = builder.add(node, std::move(layer), inputs, inputs[0].axes);
  result.logical = Shape(std::move(logical));
  result.flattened = inputs[0].flattened;
  result.not_negative = inputs[0].not_negative && inputs[1].not_negative;
  return result;
}

Imported import_add(Builder& builder, const Node& node) {
  return add_merge(builder, node, std::make_unique<Add>());
}

Imported import_mul(Builder& builder, const Node& node) {
  return add_merge(builder, node, std::make_unique<Multiply>());
}

Imported import_concat(Builder& builder, const Node& node) {
  std::vector<Imported> inputs;
  const Shape& first = builder.input(node, 0).logical;
  Index axis = node.integer("axis", 0);
  if (axis < 0) axis += first.rank() + 1;
  if (axis < 1 || axis > first.rank()) refuse("expected an axis of examples, found {}", axis);
  // An axis that the model has: one of extent 1 may be missing there.
  std::vector<Index> axes = builder.input(node, 0).axes;
  const bool whole =
      static_cast<Index>(axes.size()) == first.rank() && std::ranges::find(axes, -1) == axes.end();
  if (!whole && first.rank() == 3) axes = kImageAxes;
  bool not_negative = true;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Imported& x = builder.input(node, i);
    if (x.flattened.has_value()) {
      refuse("joins the flattening of images [channels, height, width]: join the images instead");
    }
    if (x.logical.rank() != first.rank()) refuse("expected values of the same rank");
    inputs.push_back(builder.arranged(node, x, axes));
    not_negative = not_negative && x.not_negative;
  }
  if (inputs.size() == 1) return inputs[0];
  const auto position = std::ranges::find(axes, axis - 1) - axes.begin();
  Imported result =
      builder.add(node, std::make_unique<Concatenate>(static_cast<Index>(position)), inputs, axes);
  result.not_negative = not_negative;
  return result;
}

constexpr std::array<Operator, 3> kMerges = {
    {{"Add", import_add}, {"Concat", import_concat}, {"Mul", import_mul}}};

}  // namespace

std::span<const Operator> merge_operators() { return kMerges; }

}  // namespace octet::detail::onnx_import
