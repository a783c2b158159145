#include <fmt/format.h>
#include <octet/import/onnx/builder.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
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

/// What Reshape makes of an example, and where the batch is then.
struct Reshaping {
  Shape logical;
  BatchPlace batch;
};

/// The extents that Reshape to `target` gives, each without the number of examples that it is a
/// multiple of where that is open, and which of them this is; -1 for a file of a fixed batch.
std::pair<std::vector<Index>, Index> target_extents(const Builder& builder, const Imported& x,
                                                    const Integers& target) {
  const Integers from = x.onnx_extents();
  const bool open = builder.batch() < 1;
  std::vector<Index> extents;
  Index known = 1;
  Index place = -1;
  Index rest = -1;  // The extent -1, which is what is left.
  for (std::size_t i = 0; i < target.size(); ++i) {
    Index extent = target[i] == 0 && i < from.size() ? from[i] : target[i];
    if (const Index count = batches_in(extent); count > 0) {
      if (open && place >= 0) refuse("expected the batch once, found {}", written(target));
      place = open ? static_cast<Index>(i) : -1;
      if (__builtin_mul_overflow(count, open ? 1 : builder.batch(), &extent)) extent = 0;
    }
    if (extent == -1 && rest < 0) {
      rest = static_cast<Index>(i);
    } else if (extent < 1 || __builtin_mul_overflow(known, extent, &known)) {
      refuse("expected extents above 0, found {}", extent);
    }
    extents.push_back(extent);
  }
  Index all = x.logical.size();
  const bool fits = open || !__builtin_mul_overflow(all, builder.batch(), &all);
  if (rest >= 0) {
    extents[at(rest)] = all / known;
    known *= extents[at(rest)];
    if (open && place < 0) place = rest;
  }
  if (!fits || known != all || (open && place < 0)) {
    refuse("{} cannot become {}", written(from), written(target));
  }
  return {std::move(extents), place};
}

/// The batch as part of `extents[place]`, which is `count` times the number of examples: what is in
/// front of it stays so. Nothing where examples would be mixed.
std::optional<Reshaping> split(const Imported& x, const std::vector<Index>& extents, Index place,
                               Index count) {
  const auto in_front = extents.begin() + place;
  const auto product = [](auto first, auto last) {
    return std::accumulate(first, last, Index{1}, std::multiplies<>());
  };
  const Index before = product(x.logical.begin(), x.logical.begin() + x.batch.axis);
  const Index behind = x.logical.size() / before;
  const Index kept_before = product(extents.begin(), in_front);
  const Index kept_behind = product(in_front + 1, extents.end());
  if (before % kept_before != 0 || behind % kept_behind != 0 ||
      before / kept_before * (behind / kept_behind) != count) {
    return std::nullopt;
  }
  std::vector<Index> logical(extents.begin(), in_front);
  BatchPlace batch{.joins_front = before > kept_before, .joins_behind = behind > kept_behind};
  if (batch.joins_front) logical.push_back(before / kept_before);
  batch.axis = std::ssize(logical);
  if (batch.joins_behind) logical.push_back(behind / kept_behind);
  logical.insert(logical.end(), in_front + 1, extents.end());
  return Reshaping{Shape(std::move(logical)), batch};
}

/// One example may be any axis of one element, or joined with any other.
Reshaping of_one_example(const Imported& x, std::vector<Index> extents) {
  Index place = x.onnx_batch();
  if (place >= std::ssize(extents) || extents[at(place)] != 1) {
    place = std::ranges::find(extents, 1) - extents.begin();
  }
  if (place == std::ssize(extents)) return {Shape(std::move(extents)), {.joins_behind = true}};
  extents.erase(extents.begin() + place);
  return {Shape(std::move(extents)), {.axis = place}};
}

Reshaping reshaping_of(const Builder& builder, const Imported& x, const Integers& target) {
  if (target.size() < 2) refuse("nothing but the batch would be left");
  auto [extents, place] = target_extents(builder, x, target);
  if (builder.batch() == 1) return of_one_example(x, std::move(extents));
  const Index examples = std::max<Index>(builder.batch(), 1);
  for (Index i = 0; i < std::ssize(extents); ++i) {
    if ((place >= 0 && i != place) || extents[at(i)] % examples != 0) continue;
    if (auto found = split(x, extents, i, extents[at(i)] / examples)) return *std::move(found);
  }
  refuse("expected a shape that keeps examples apart, found {} to become {}",
         written(x.onnx_extents()), written(target));
}

Imported import_reshape(Builder& builder, const Node& node) {
  const Imported& x = builder.value(node, 0);
  if (node.integer("allowzero", 0) != 0) refuse("expected allowzero 0, found 1");
  const Reshaping to = reshaping_of(builder, x, builder.required_constant(node, 1).integers());
  Imported result = builder.reshaped(node, x, to.logical);
  result.batch = to.batch;
  return result;
}

Imported import_squeeze(Builder& builder, const Node& node) {
  const Imported& x = builder.unjoined(node, 0);
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
  const Imported& x = builder.unjoined(node, 0);
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
    } else if (next++ == x.batch.axis) {
      batch = place;
    } else {
      extents.push_back(x.logical[next - 1 > x.batch.axis ? next - 2 : next - 1]);
    }
  }
  Imported result = builder.reshaped(node, x, Shape(std::move(extents)));
  result.batch.axis = batch;
  return result;
}

Imported import_transpose(Builder& builder, const Node& node) {
  const Imported& x = builder.value(node, 0);
  const Index rank = x.onnx_rank();
  Integers perm = node.integers("perm");
  if (!node.attributes.contains("perm")) {
    for (Index axis = rank; axis-- > 0;) perm.push_back(axis);
  }
  std::vector<Index> sorted(perm.begin(), perm.end());
  std::ranges::sort(sorted);
  bool valid = std::ssize(perm) == rank;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    valid = valid && sorted[i] == static_cast<Index>(i);
  }
  if (!valid) refuse("expected each of {} axes once, found perm [{}]", rank, fmt::join(perm, ", "));
  Imported result = x;
  std::vector<Index> logical;
  std::vector<Index> to(at(x.logical.rank()));
  const auto append = [&](Index from) {
    to[at(from)] = std::ssize(logical);
    logical.push_back(x.logical[from]);
  };
  for (const Index axis : perm) {
    if (axis != x.onnx_batch()) {
      append(example_axis(axis, x));
      continue;
    }
    // What is joined with the batch goes with it.
    if (x.batch.joins_front) append(x.batch.axis - 1);
    result.batch.axis = std::ssize(logical);
    if (x.batch.joins_behind) append(x.batch.axis);
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
