#include <octet/import/onnx/builder.h>
#include <octet/layers/concatenate.h>

#include <algorithm>

namespace octet::detail::onnx_import {
namespace {

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
    const Imported x = builder.ordered(node, builder.input(node, i));
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

constexpr std::array<Operator, 1> kMerges = {{{"Concat", import_concat}}};

}  // namespace

std::span<const Operator> merge_operators() { return kMerges; }

}  // namespace octet::detail::onnx_import
