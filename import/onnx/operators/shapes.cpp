#include <fmt/format.h>
#include <octet/import/onnx/builder.h>
#include <octet/layers/concatenate.h>
#include <octet/layers/slice.h>
#include <octet/runtime/kernel.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

// What moves elements: no layer where the model can be read another way.

namespace octet::detail::onnx_import {
namespace {

using Integers = std::vector<std::int64_t>;

/// An axis of ONNX as one of the examples of `x`. Throws for the batch.
Index example_axis(std::int64_t axis, const Imported& x) {
  const Index rank = x.logical.rank();
  const Index counted = axis < 0 ? axis + rank + 1 : axis;
  if (counted < 0 || counted > rank || counted == x.batch) {
    refuse("expected an axis of examples, found {}", axis);
  }
  return counted > x.batch ? counted - 1 : counted;
}

/// `x` where each axis of its examples of which `is_dropped` says so is gone.
Imported without_axes(Builder& builder, const Node& node, const Imported& x,
                      const std::vector<bool>& is_dropped) {
  std::vector<Index> extents;
  Index batch = x.batch;
  for (Index i = 0; i < x.logical.rank(); ++i) {
    if (!is_dropped[at(i)]) {
      extents.push_back(x.logical[i]);
    } else if (i < x.batch) {
      --batch;
    }
  }
  if (extents.empty()) refuse("nothing but the batch would be left");
  Imported result = builder.reshaped(node, x, Shape(std::move(extents)));
  result.batch = batch;
  return result;
}

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
  const auto axes = axes_of(node, 1, node.has(1) ? builder.constant(node, 1) : nullptr);
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
  const auto axes = axes_of(node, 1, node.has(1) ? builder.constant(node, 1) : nullptr);
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

/// `x`, whose batch is in front, with its axes in the order `axes`: another way to read it.
Imported permuted(const Imported& x, const std::vector<Index>& axes) {
  Imported result = x;
  std::vector<Index> extents;
  for (const Index axis : axes) extents.push_back(x.logical[axis]);
  result.logical = Shape(std::move(extents));
  for (Index& axis : result.axes) {
    if (axis >= 0) axis = std::ranges::find(axes, axis) - axes.begin();
  }
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

/// A list of numbers: an attribute up to some opset, an input since.
Integers numbers_of(const Builder& builder, const Node& node, std::string_view key, std::size_t i) {
  const Constant* given = builder.constant(node, i);
  return given == nullptr ? node.integers(key) : given->integers();
}

/// `size` elements of an axis of ONNX' examples, from `begin` on, that lie `step` apart.
Imported cut(Builder& builder, const Node& node, const Imported& given, Index axis, Index begin,
             Index size, Index step = 1) {
  if (size == given.logical[axis]) return given;
  const Imported x = builder.ordered(node, given);
  // An axis that the model does not have has extent 1.
  const auto at_axis = std::ranges::find(x.axes, axis);
  if (at_axis == x.axes.end()) refuse("expected elements of axis {}, found none", axis + 1);
  const Slice slice({.axis = at_axis - x.axes.begin(), .begin = begin, .size = size, .step = step});
  Imported result = builder.add(node, slice.clone(), {x}, x.axes);
  result.logical = x.logical.with_dim(axis, size);
  result.batch = x.batch;
  result.not_negative = x.not_negative;
  return result;
}

/// The zeros in front of (first) and behind each of ONNX's axes of `x`, the batch among them: an
/// attribute up to opset 10, an input since, of some axes alone since 18.
std::array<Integers, 2> pads_of(const Builder& builder, const Node& node, const Imported& x) {
  const Integers pads = numbers_of(builder, node, "pads", 1);
  const Index rank = x.logical.rank() + 1;
  const Constant* given = builder.constant(node, 3);
  Integers axes(at(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (given != nullptr) axes = given->integers();
  if (pads.size() != 2 * axes.size()) {
    refuse("expected two pads for each of {} axes, found {}", axes.size(), pads.size());
  }
  constexpr std::int64_t kMost = 1 << 20;
  std::array<Integers, 2> result = {Integers(at(rank)), Integers(at(rank))};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank) refuse("expected axes of {}, found {}", rank, axes[i]);
    for (const std::int64_t pad : {pads[i], pads[axes.size() + i]}) {
      if (pad < -kMost || pad > kMost) refuse("expected pads of at most {}, found {}", kMost, pad);
    }
    result[0][at(axis)] = pads[i];
    result[1][at(axis)] = pads[axes.size() + i];
  }
  if (result[0][0] != 0 || result[1][0] != 0) {
    refuse("expected no pads of the batch, found [{}]", fmt::join(pads, ", "));
  }
  return result;
}

/// `x` with each of its axes in the model, those of extent 1 behind the others.
Imported with_all_axes(Builder& builder, const Node& node, const Imported& x) {
  std::vector<Index> axes = x.axes;
  for (Index axis = 0; axis < x.logical.rank(); ++axis) {
    if (std::ranges::find(axes, axis) == axes.end()) axes.push_back(axis);
  }
  return builder.arranged(node, x, axes);
}

Imported import_pad(Builder& builder, const Node& node) {
  Imported x = builder.ordered(node, builder.input(node, 0));
  const Constant* filling = builder.constant(node, 2);
  const float value = filling == nullptr ? node.real("value", 0) : filling->real();
  const std::string mode = node.text("mode", "constant");
  if (mode != "constant") refuse("expected mode constant, found {}", mode);
  const std::array<Integers, 2> pads = pads_of(builder, node, x);
  const Integers& front = pads[0];
  const Integers& behind = pads[1];
  for (Index axis = 0; axis < x.logical.rank(); ++axis) {
    // Pads below 0 cut.
    const Index extent = x.logical[axis];
    const Index begin = std::max<Index>(-front[at(axis) + 1], 0);
    const Index end = std::min(extent + behind[at(axis) + 1], extent);
    if (end <= begin) refuse("cuts all elements of axis {}", axis + 1);
    x = cut(builder, node, x, axis, begin, end - begin);
  }
  const auto zeros = [](const Integers& of, Index axis) {
    return axis < 0 ? Index{0} : std::max<Index>(of[at(axis) + 1], 0);
  };
  const auto is_padded = [&](Index axis) { return zeros(front, axis) + zeros(behind, axis) > 0; };
  std::vector<Index> padded;
  for (Index axis = 0; axis < x.logical.rank(); ++axis) {
    if (is_padded(axis)) padded.push_back(axis);
  }
  if (padded.empty()) return x;
  if (value != 0) refuse("expected zeros around values, found {}", value);
  x = with_all_axes(builder, node, x);
  if (x.axes.size() == 3 && padded.size() > 1) {
    // Around images by one layer.
    const Index down = x.axes[0];
    const Index along = x.axes[1];
    x = builder.padded(
        node, x,
        {zeros(front, down), zeros(behind, down), zeros(front, along), zeros(behind, along)});
    std::erase_if(padded, [&](Index axis) { return axis == down || axis == along; });
  }
  for (const Index axis : padded) {
    x = builder.with_zeros(node, x, axis, zeros(front, axis), zeros(behind, axis));
  }
  return x;
}

Imported import_slice(Builder& builder, const Node& node) {
  Imported x = builder.value(node, 0);
  const Integers starts = numbers_of(builder, node, "starts", 1);
  const Integers ends = numbers_of(builder, node, "ends", 2);
  Integers axes = numbers_of(builder, node, "axes", 3);
  const Integers steps = numbers_of(builder, node, "steps", 4);
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  const bool fits = ends.size() == starts.size() && axes.size() == starts.size() &&
                    std::ssize(starts) <= x.logical.rank() + 1;
  if (!fits) {
    refuse("expected starts, ends and axes for at most {} axes, found {}, {} and {}",
           x.logical.rank() + 1, starts.size(), ends.size(), axes.size());
  }
  constexpr std::int64_t kLargestStep = 1 << 24;
  if (!std::ranges::all_of(steps, [](auto n) { return n >= 1 && n <= kLargestStep; }) ||
      (!steps.empty() && steps.size() != starts.size())) {
    refuse("expected steps of 1 or more, one for each axis, found [{}]", fmt::join(steps, ", "));
  }
  for (std::size_t i = 0; i < starts.size(); ++i) {
    constexpr std::int64_t kAll = std::numeric_limits<std::int32_t>::max();
    if (axes[i] == x.batch && starts[i] == 0 && ends[i] >= kAll) continue;
    const Index axis = example_axis(axes[i], x);
    const Index extent = x.logical[axis];
    const auto place = [&](std::int64_t n) {
      return std::clamp<Index>(n < 0 ? std::max(n, -extent) + extent : n, 0, extent);
    };
    const Index begin = place(starts[i]);
    const Index step = steps.empty() ? 1 : steps[i];
    x = cut(builder, node, x, axis, begin, (place(ends[i]) - begin + step - 1) / step, step);
  }
  return x;
}

/// Where a row of indices that are one more than the one before begins, and how many they are.
using Row = std::pair<Index, Index>;

/// The rows of constant indices of an axis of `extent` elements.
std::vector<Row> rows_of(const Constant& indices, Index extent) {
  constexpr std::size_t kMostRows = kMostInputs;
  std::vector<Row> rows;
  for (const std::int64_t given : indices.integers()) {
    const Index index = given < 0 ? given + extent : given;
    if (index < 0 || index >= extent) {
      refuse("expected indices of an axis of {}, found {}", extent, given);
    }
    if (!rows.empty() && index == rows.back().first + rows.back().second) {
      ++rows.back().second;
    } else {
      rows.emplace_back(index, 1);
    }
  }
  if (rows.empty() || rows.size() > kMostRows || indices.shape.rank() > 1) {
    refuse("expected indices in at most {} rows, found [{}]", kMostRows,
           fmt::join(indices.integers(), ", "));
  }
  return rows;
}

/// Elements of one axis at constant indices, row by row; one index drops the axis.
Imported import_gather(Builder& builder, const Node& node) {
  const Imported x = builder.ordered(node, builder.value(node, 0));
  const Index axis = example_axis(node.integer("axis", 0), x);
  const Constant& given = builder.required_constant(node, 1);
  std::vector<Imported> parts;
  for (const auto& [begin, size] : rows_of(given, x.logical[axis])) {
    parts.push_back(cut(builder, node, x, axis, begin, size));
  }
  Imported part = parts.front();
  if (parts.size() > 1) {
    const Index place = std::ranges::find(x.axes, axis) - x.axes.begin();
    if (place == std::ssize(x.axes)) refuse("expected elements of axis {}, found one", axis + 1);
    part = builder.add(node, std::make_unique<Concatenate>(place), parts, x.axes);
    part.logical = x.logical.with_dim(axis, part.physical[place]);
    part.batch = x.batch;
    part.not_negative = x.not_negative;
  }
  if (given.shape.rank() == 1) return part;
  std::vector<bool> dropped(at(x.logical.rank()));
  dropped[at(axis)] = true;
  return without_axes(builder, node, part, dropped);
}

/// The extents of a Split's results, which ONNX gives or are equal.
Integers part_sizes(const Builder& builder, const Node& node, Index extent) {
  Integers sizes = numbers_of(builder, node, "split", 1);
  const auto parts = static_cast<Index>(node.outputs.size());
  if (sizes.empty() && node.integer("num_outputs", 0) == parts) {
    // The last one is what is left.
    const Index size = (extent + parts - 1) / parts;
    sizes.assign(node.outputs.size(), size);
    sizes.back() = extent - (parts - 1) * size;
  }
  if (sizes.empty() && extent % parts == 0) sizes.assign(node.outputs.size(), extent / parts);
  Index rest = extent;
  for (const std::int64_t size : sizes) rest = size < 1 || size > rest ? -1 : rest - size;
  if (rest != 0 || std::ssize(sizes) != parts) {
    refuse("expected {} parts of at least 1 that are {} together, found [{}]", parts, extent,
           fmt::join(sizes, ", "));
  }
  return sizes;
}

Imported import_split(Builder& builder, const Node& node) {
  const Imported x = builder.input(node, 0);
  const Index axis = example_axis(node.integer("axis", 0), x);
  const Integers sizes = part_sizes(builder, node, x.logical[axis]);
  Imported first = x;
  Index begin = 0;
  for (std::size_t i = 0; i < sizes.size(); begin += sizes[i++]) {
    if (!builder.is_read(node.outputs[i])) continue;
    Imported part = cut(builder, node, x, axis, begin, sizes[i]);
    if (i == 0) {
      first = std::move(part);
    } else {
      builder.set_result(node, i, std::move(part));
    }
  }
  return first;
}

constexpr std::array<Operator, 11> kShapeOperators = {{{"DepthToSpace", import_depth_to_space},
                                                       {"Flatten", import_flatten},
                                                       {"Gather", import_gather},
                                                       {"Pad", import_pad},
                                                       {"Reshape", import_reshape},
                                                       {"Slice", import_slice},
                                                       {"SpaceToDepth", import_space_to_depth},
                                                       {"Split", import_split},
                                                       {"Squeeze", import_squeeze},
                                                       {"Transpose", import_transpose},
                                                       {"Unsqueeze", import_unsqueeze}}};

}  // namespace

std::span<const Operator> shape_operators() { return kShapeOperators; }

}  // namespace octet::detail::onnx_import
