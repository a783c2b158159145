#include <fmt/format.h>
#include <octet/core/printable.h>
#include <octet/import/onnx/channels.h>
#include <octet/layers/concatenate.h>
#include <octet/runtime/kernel.h>

#include <algorithm>
#include <numeric>

namespace octet::detail::onnx_import {
namespace {

/// `x`, beside which a Concat joins zeros along `axis`: those are padding.
Imported joined_with_zeros(Builder& builder, const Node& node, Index axis) {
  const std::size_t computed = builder.is_constant(node, 0) ? 1 : 0;
  const Constant& zeros = builder.required_constant(node, 1 - computed);
  const Imported x = builder.image(node, builder.input(node, computed));
  const Shape expected = x.logical.with_dim(axis, 0);
  const bool fits = zeros.shape.rank() == 4 && zeros.shape[0] == 1 &&
                    zeros.shape.without_dim(0).with_dim(axis, 0) == expected;
  if (!fits || !std::ranges::all_of(zeros.floats(), [](float v) { return v == 0.0F; })) {
    refuse("expected zeros beside images [1, {}], found the constant \"{}\" of {}",
           fmt::join(x.logical, ", "), printable(node.inputs[1 - computed]),
           zeros.shape.to_string());
  }
  const Index count = zeros.shape[axis + 1];
  const Index front = computed == 1 ? count : 0;
  const Index behind = count - front;
  if (axis == 0) return builder.with_zeros(node, x, 0, front, behind);
  if (axis == 1) return builder.padded(node, x, {.top = front, .bottom = behind});
  return builder.padded(node, x, {.left = front, .right = behind});
}

/// Sequences with constant steps in front or behind: those are zeros, to which the constant is
/// added.
Imported joined_with_steps(Builder& builder, const Node& node, const Imported& given) {
  const std::size_t computed = builder.is_constant(node, 0) ? 1 : 0;
  const Constant& steps = builder.required_constant(node, 1 - computed);
  const Index axis = node.integer("axis", 0);
  const Imported x = builder.arranged(node, given, {0, 1});
  const Index features = x.logical[1];
  if ((axis != 1 && axis != -2) || steps.shape.rank() != 3 || steps.shape[0] != 1 ||
      steps.shape[2] != features) {
    refuse(
        "expected constant steps [1, steps, {}] beside sequences along axis 1, found {} along {}",
        features, steps.shape.to_string(), axis);
  }
  const Index count = steps.shape[1];
  const Index front = computed == 1 ? count : 0;
  const Imported padded = builder.padded(node, x, {.left = front, .right = count - front});
  Constant all{padded.logical, std::vector<float>(at(padded.logical.size()))};
  std::ranges::copy(steps.floats(),
                    std::get<0>(all.data).begin() + (front > 0 ? 0 : x.logical.size()));
  return with_positions(builder, node, padded, all);
}

Imported import_concat(Builder& builder, const Node& node) {
  if (node.inputs.size() == 2 && builder.is_constant(node, 0) != builder.is_constant(node, 1)) {
    const Imported x = builder.input(node, builder.is_constant(node, 0) ? 1 : 0);
    if (x.logical.rank() == 2) return joined_with_steps(builder, node, x);
    const Index given = node.integer("axis", 0);
    const Index axis = given < 0 ? given + 3 : given - 1;
    if (axis < 0 || axis > 2) refuse("expected an axis of images, found {}", given);
    return joined_with_zeros(builder, node, axis);
  }
  std::vector<Imported> inputs;
  Imported front = builder.unjoined(node, 0);
  const std::int64_t along = node.integer("axis", 0);
  if (along == front.onnx_batch() || along + front.onnx_rank() == front.onnx_batch()) {
    front = builder.with_batch_at(front, 0);
  }
  const Index axis = example_axis(along, front);
  const Shape& first = front.logical;
  // An axis that the model has: one of extent 1 may be missing there.
  std::vector<Index> axes = front.axes;
  const bool whole =
      static_cast<Index>(axes.size()) == first.rank() && std::ranges::find(axes, -1) == axes.end();
  if (!whole) {
    axes.resize(at(first.rank()));
    std::iota(axes.begin(), axes.end(), 0);
    if (first.rank() == 3) axes = kImageAxes;
  }
  bool not_negative = true;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Imported x =
        builder.ordered(node, builder.with_batch_at(builder.unjoined(node, i), front.batch.axis));
    if (x.logical.rank() != first.rank() || x.batch != front.batch) {
      refuse("expected values of the same axes, found {} and {}", written(front.onnx_extents()),
             written(x.onnx_extents()));
    }
    inputs.push_back(builder.arranged(node, x, axes));
    not_negative = not_negative && x.not_negative;
  }
  if (inputs.size() == 1) return inputs[0];
  const auto position = std::ranges::find(axes, axis) - axes.begin();
  Imported result =
      builder.add(node, std::make_unique<Concatenate>(static_cast<Index>(position)), inputs, axes);
  result.batch = front.batch;
  result.not_negative = not_negative;
  return result;
}

/// `count` times `x` along an axis of the model, of which it has one element.
Imported repeated(Builder& builder, const Node& node, const Imported& x, Index axis, Index count) {
  constexpr Index kMost = kMostInputs;
  const Index parts = std::min(count, kMost);
  std::vector<Imported> inputs;
  for (Index i = 0; i < parts; ++i) {
    const Index share = count / parts + (i < count % parts ? 1 : 0);
    // At most two kinds.
    if (i > 0 && i != count % parts) {
      inputs.push_back(inputs.back());
    } else {
      inputs.push_back(share == 1 ? x : repeated(builder, node, x, axis, share));
    }
  }
  return builder.add(node, std::make_unique<Concatenate>(axis), inputs, x.axes);
}

/// Axes of one element are repeated.
Imported import_expand(Builder& builder, const Node& node) {
  const std::vector<std::int64_t>& shape = builder.required_constant(node, 1).integers();
  Imported x = builder.ordered(node, builder.input(node, 0));
  const Index rank = x.logical.rank() + 1;
  if (std::ssize(shape) > rank) refuse("expected at most {} axes, found {}", rank, shape.size());
  if (x.logical.rank() == 3) x = builder.image(node, x);
  const Index first = rank - std::ssize(shape);
  for (Index i = 0; i < std::ssize(shape); ++i) {
    const Index axis = first + i - 1;
    const Index extent = shape[at(i)];
    if (axis < 0) {
      if (extent == 1 || extent == builder.batch()) continue;
      refuse("expected the number of examples to stay, found {}", extent);
    }
    if (extent == 1 || extent == x.logical[axis]) continue;
    const auto found = std::ranges::find(x.axes, axis);
    if (x.logical[axis] != 1 || found == x.axes.end()) {
      refuse("expected an axis of one element to repeat, found {} for {}", fmt::join(shape, ", "),
             x.logical.to_string());
    }
    const bool not_negative = x.not_negative;
    x = repeated(builder, node, x, found - x.axes.begin(), extent);
    x.not_negative = not_negative;
  }
  return x;
}

/// Axes are repeated whole.
Imported import_tile(Builder& builder, const Node& node) {
  const std::vector<std::int64_t>& repeats = builder.required_constant(node, 1).integers();
  Imported x = builder.ordered(node, builder.input(node, 0));
  if (std::ssize(repeats) != x.logical.rank() + 1 || repeats[0] != 1) {
    refuse("expected 1 for the batch and a number for each axis of [batch, {}], found [{}]",
           fmt::join(x.logical, ", "), fmt::join(repeats, ", "));
  }
  for (Index axis = 0; axis < x.logical.rank(); ++axis) {
    const Index count = repeats[at(axis + 1)];
    if (count == 1) continue;
    if (count < 1 || count > (1 << 12)) refuse("expected 1 to 4096 repeats, found {}", count);
    const auto found = std::ranges::find(x.axes, axis);
    if (found == x.axes.end()) refuse("expected an axis of more than one element to repeat");
    const Imported before = x;
    x = repeated(builder, node, x, found - x.axes.begin(), count);
    x.logical = before.logical.with_dim(axis, before.logical[axis] * count);
    x.not_negative = before.not_negative;
  }
  return x;
}

constexpr std::array<Operator, 3> kMerges = {
    {{"Concat", import_concat}, {"Expand", import_expand}, {"Tile", import_tile}}};

}  // namespace

std::span<const Operator> merge_operators() { return kMerges; }

}  // namespace octet::detail::onnx_import
