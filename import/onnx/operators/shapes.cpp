#include <fmt/format.h>
#include <octet/import/onnx/builder.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

// Shapes and orders of axes: no layer where the model can be read another way.

namespace octet::detail::onnx_import {
namespace {

using Integers = std::vector<std::int64_t>;

Imported import_flatten(Builder& builder, const Node& node) {
  const Imported& x = builder.input(node, 0);
  const Index rank = x.logical.rank() + 1;
  Index axis = node.integer("axis", 1);
  if (axis < 0) axis += rank;
  // Axes of extent 1 may stand on either side.
  bool whole = axis >= 0 && axis <= rank && (axis > 0 || builder.batch() == 1);
  for (Index i = 1; i < axis && whole; ++i) whole = x.logical[i - 1] == 1;
  if (!whole) {
    refuse("expected all of an example to be flattened (axis 1), found axis {} of [{}, {}]", axis,
           builder.batch(), fmt::join(x.logical, ", "));
  }
  return builder.reshaped(node, x, {x.logical.size()});
}

/// The extents of an example that Reshape to `target` gives.
Shape example_of(const Builder& builder, const Imported& x, const Integers& target) {
  const auto place = at(x.batch);
  const bool batch =
      place < target.size() && (target[place] == kBatch || target[place] == 0 ||
                                target[place] == -1 || target[place] == builder.batch());
  if (!batch || target.size() < 2) {
    refuse("expected a shape whose extent {} is the batch's, found [{}]", x.batch,
           fmt::join(target, ", "));
  }
  std::vector<Index> extents;
  Index known = 1;
  Index open = -1;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (i == place) continue;
    Index extent = target[i];
    // Of x, without its batch.
    const Index same = static_cast<Index>(i > place ? i - 1 : i);
    if (extent == 0 && same < x.logical.rank()) extent = x.logical[same];
    if (extent == -1 && open < 0) {
      open = std::ssize(extents);
    } else if (extent < 1 || __builtin_mul_overflow(known, extent, &known)) {
      refuse("expected extents above 0, found {}", extent);
    }
    extents.push_back(extent);
  }
  if (open >= 0) extents[at(open)] = x.logical.size() / known;
  return Shape(std::move(extents));
}

Imported import_reshape(Builder& builder, const Node& node) {
  const Imported& x = builder.value(node, 0);
  if (node.integer("allowzero", 0) != 0) refuse("expected allowzero 0, found 1");
  Imported result = builder.reshaped(
      node, x, example_of(builder, x, builder.required_constant(node, 1).integers()));
  result.batch = x.batch;
  return result;
}

Imported import_squeeze(Builder& builder, const Node& node) {
  const Imported& x = builder.value(node, 0);
  const Index rank = x.logical.rank();
  const auto axes = axes_of(node, 1, builder.constant(node, 1));
  std::vector<bool> dropped(at(rank));
  for (Index i = 0; i < rank && !axes.has_value(); ++i) dropped[at(i)] = x.logical[i] == 1;
  for (const std::int64_t axis : axes.value_or(Integers())) {
    const Index i = example_axis(axis, x);
    if (x.logical[i] != 1) refuse("expected extent 1 of axis {}, found {}", axis, x.logical[i]);
    dropped[at(i)] = true;
  }
  return without_axes(builder, node, x, dropped);
}

Imported import_unsqueeze(Builder& builder, const Node& node) {
  const Imported& x = builder.value(node, 0);
  const auto axes = axes_of(node, 1, builder.constant(node, 1));
  constexpr std::size_t kMost = 4;
  if (!axes.has_value() || axes->size() > kMost) refuse("expected one to {} axes", kMost);
  const Index rank = x.logical.rank() + 1 + static_cast<Index>(axes->size());
  std::vector<bool> added(at(rank));
  for (const std::int64_t axis : *axes) {
    const Index counted = axis < 0 ? axis + rank : axis;
    if (counted < 0 || counted >= rank) refuse("expected an axis of examples, found {}", axis);
    added[at(counted)] = true;
  }
  if (std::ranges::count(added, true) != std::ssize(*axes)) {
    refuse("expected different axes, found [{}]", fmt::join(*axes, ", "));
  }
  std::vector<Index> extents;
  Index batch = -1;
  Index next = 0;  // Among ONNX's axes of x.
  for (Index place = 0; place < rank; ++place) {
    if (added[at(place)]) {
      extents.push_back(1);
    } else if (next++ == x.batch) {
      batch = place;
    } else {
      extents.push_back(x.logical[next - 1 > x.batch ? next - 2 : next - 1]);
    }
  }
  Imported result = builder.reshaped(node, x, Shape(std::move(extents)));
  result.batch = batch;
  return result;
}

Imported import_transpose(Builder& builder, const Node& node) {
  const Imported& x = builder.value(node, 0);
  const Index rank = x.logical.rank();
  Integers perm = node.integers("perm");
  if (!node.attributes.contains("perm")) {
    for (Index axis = rank; axis >= 0; --axis) perm.push_back(axis);
  }
  std::vector<Index> sorted(perm.begin(), perm.end());
  std::ranges::sort(sorted);
  bool valid = std::ssize(perm) == rank + 1;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    valid = valid && sorted[i] == static_cast<Index>(i);
  }
  if (!valid)
    refuse("expected each of {} axes once, found perm [{}]", rank + 1, fmt::join(perm, ", "));
  Imported result = x;
  std::vector<Index> logical;
  std::vector<Index> to(at(rank));
  for (std::size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] == x.batch) {
      result.batch = static_cast<Index>(i);
      continue;
    }
    const Index from = example_axis(perm[i], x);
    to[at(from)] = std::ssize(logical);
    logical.push_back(x.logical[from]);
  }
  for (Index& axis : result.axes) {
    if (axis >= 0) axis = to[at(axis)];
  }
  result.logical = Shape(std::move(logical));
  return result;
}

/// The block of DepthToSpace and SpaceToDepth, which divides extents of images into whole parts.
Index block_of(const Node& node, const Imported& x, const std::vector<Index>& divided) {
  constexpr Index kMost = 1 << 12;
  const Index block = node.integer("blocksize", 0);
  if (x.logical.rank() != 3 || block < 1 || block > kMost ||
      std::ranges::any_of(divided, [&](Index axis) {
        return x.logical[axis] % (axis == 0 ? block * block : block) != 0;
      })) {
    refuse(
        "expected images [batch, channels, height, width] of whole blocks, found [batch, {}] and "
        "a blocksize of {}",
        fmt::join(x.logical, ", "), block);
  }
  return block;
}

/// Channels [block, block, c], or [c, block, block] in mode CRD, as blocks of pixels.
Imported import_depth_to_space(Builder& builder, const Node& node) {
  const Imported& x = builder.input(node, 0);
  const Index b = block_of(node, x, {0});
  const std::string mode = node.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") refuse("expected mode DCR or CRD, found {}", mode);
  const Index c = x.logical[0] / (b * b);
  const Index h = x.logical[1];
  const Index w = x.logical[2];
  const Imported apart =
      mode == "DCR" ? permuted(builder.reshaped(node, x, {b, b, c, h, w}), {2, 3, 0, 4, 1})
                    : permuted(builder.reshaped(node, x, {c, b, b, h, w}), {0, 3, 1, 4, 2});
  return builder.image(node, builder.reshaped(node, apart, {c, h * b, w * b}));
}

/// Blocks of pixels as channels [block, block, c].
Imported import_space_to_depth(Builder& builder, const Node& node) {
  const Imported& x = builder.input(node, 0);
  const Index b = block_of(node, x, {1, 2});
  const Index c = x.logical[0];
  const Index h = x.logical[1] / b;
  const Index w = x.logical[2] / b;
  const Imported apart = permuted(builder.reshaped(node, x, {c, h, b, w, b}), {2, 4, 0, 1, 3});
  return builder.image(node, builder.reshaped(node, apart, {b * b * c, h, w}));
}

constexpr std::array<Operator, 7> kShapeOperators = {{{"DepthToSpace", import_depth_to_space},
                                                      {"Flatten", import_flatten},
                                                      {"Reshape", import_reshape},
                                                      {"SpaceToDepth", import_space_to_depth},
                                                      {"Squeeze", import_squeeze},
                                                      {"Transpose", import_transpose},
                                                      {"Unsqueeze", import_unsqueeze}}};

}  // namespace

std::span<const Operator> shape_operators() { return kShapeOperators; }

}  // namespace octet::detail::onnx_import
