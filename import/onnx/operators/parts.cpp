#include <fmt/format.h>
#include <octet/import/onnx/builder.h>
#include <octet/layers/concatenate.h>
#include <octet/layers/slice.h>
#include <octet/runtime/kernel.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

// Parts of values, and zeros around them.

namespace octet::detail::onnx_import {
namespace {

using Integers = std::vector<std::int64_t>;

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
std::array<Integers, 2> pads_of_axes(const Builder& builder, const Node& node, const Imported& x) {
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

Imported import_pad(Builder& builder, const Node& node) {
  Imported x = builder.ordered(node, builder.input(node, 0));
  const Constant* filling = builder.constant(node, 2);
  const float value = filling == nullptr ? node.real("value", 0) : filling->real();
  const std::string mode = node.text("mode", "constant");
  if (mode != "constant") refuse("expected mode constant, found {}", mode);
  const std::array<Integers, 2> pads = pads_of_axes(builder, node, x);
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
  if (x.axes.size() == 3 && x.logical.rank() == 3 && padded.size() > 1) {
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
  Imported x = builder.unjoined(node, 0);
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
    const Index step = steps.empty() ? 1 : steps[i];
    if (axes[i] == x.batch.axis && starts[i] == 0 && ends[i] >= kAll && step == 1) continue;
    if (batches_in(starts[i]) > 0 || batches_in(ends[i]) > 0) {
      refuse("cuts where the number of examples says");
    }
    const Index axis = example_axis(axes[i], x);
    const Index extent = x.logical[axis];
    const auto place = [&](std::int64_t n) {
      return std::clamp<Index>(n < 0 ? std::max(n, -extent) + extent : n, 0, extent);
    };
    const Index begin = place(starts[i]);
    x = cut(builder, node, x, axis, begin, (place(ends[i]) - begin + step - 1) / step, step);
  }
  return x;
}

/// The first of a run of consecutive indices, and how many they are.
using Run = std::pair<Index, Index>;

/// The runs of constant indices of an axis of `extent` elements.
std::vector<Run> runs_of(const Constant& indices, Index extent) {
  constexpr std::size_t kMostRuns = kMostInputs;
  std::vector<Run> runs;
  for (const std::int64_t given : indices.integers()) {
    const Index index = given < 0 ? given + extent : given;
    if (index < 0 || index >= extent) {
      refuse("expected indices of an axis of {}, found {}", extent, given);
    }
    if (!runs.empty() && index == runs.back().first + runs.back().second) {
      ++runs.back().second;
    } else {
      runs.emplace_back(index, 1);
    }
  }
  if (runs.empty() || runs.size() > kMostRuns || indices.shape.rank() > 1) {
    refuse("expected a list of indices in at most {} runs of consecutive ones, found [{}]",
           kMostRuns, fmt::join(indices.integers(), ", "));
  }
  return runs;
}

/// Elements of one axis at constant indices, run by run; one index drops the axis.
Imported import_gather(Builder& builder, const Node& node) {
  const Imported x = builder.ordered(node, builder.unjoined(node, 0));
  const Index axis = example_axis(node.integer("axis", 0), x);
  const Constant& given = builder.required_constant(node, 1);
  std::vector<Imported> parts;
  for (const auto& [begin, size] : runs_of(given, x.logical[axis])) {
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
  const Imported x = builder.unjoined(node, 0);
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

constexpr std::array<Operator, 4> kPartOperators = {{{"Gather", import_gather},
                                                     {"Pad", import_pad},
                                                     {"Slice", import_slice},
                                                     {"Split", import_split}}};

}  // namespace

std::span<const Operator> part_operators() { return kPartOperators; }

}  // namespace octet::detail::onnx_import
