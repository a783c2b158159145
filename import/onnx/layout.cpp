#include <fmt/format.h>
#include <octet/import/onnx/builder.h>
#include <octet/layers/permute.h>
#include <octet/layers/reshape.h>

#include <algorithm>
#include <numeric>

// How values of ONNX lie in the model: the one place that knows transpositions.

namespace octet::detail::onnx_import {
namespace {

/// The axes among `axes` whose extents are not 1.
std::vector<Index> long_axes(const std::vector<Index>& axes, const Shape& logical) {
  std::vector<Index> result;
  for (const Index axis : axes) {
    if (axis >= 0 && logical[axis] != 1) result.push_back(axis);
  }
  return result;
}

std::vector<Index> counting(Index rank) {
  std::vector<Index> result(at(rank));
  std::iota(result.begin(), result.end(), 0);
  return result;
}

std::vector<Index> long_extents(const Shape& shape) {
  std::vector<Index> result;
  std::ranges::copy_if(shape, std::back_inserter(result), [](Index n) { return n != 1; });
  return result;
}

/// The axes of `x` where ONNX reads it as `logical`, which differs in extents of 1 alone.
std::vector<Index> renamed(const Imported& x, const Shape& logical) {
  std::vector<Index> to(at(x.logical.rank()), -1);
  Index next = 0;
  for (Index axis = 0; axis < x.logical.rank(); ++axis) {
    if (x.logical[axis] == 1) continue;
    while (logical[next] == 1) ++next;
    to[at(axis)] = next++;
  }
  std::vector<Index> axes;
  for (const Index axis : x.axes) axes.push_back(axis < 0 ? -1 : to[at(axis)]);
  return axes;
}

}  // namespace

bool Imported::in_order() const {
  return !flattened.has_value() && std::ranges::is_sorted(long_axes(axes, logical));
}

std::vector<Index> Imported::order() const {
  std::vector<Index> result = {0};
  if (!flattened.has_value()) {
    result.resize(at(logical.size()));
    std::iota(result.begin(), result.end(), 0);
    return result;
  }
  const Shape& from = flattened->logical;
  for (const Index axis : flattened->axes) {
    if (axis < 0) continue;
    Index step = 1;
    for (Index i = axis + 1; i < from.rank(); ++i) step *= from[i];
    std::vector<Index> next;
    next.reserve(result.size() * at(from[axis]));
    for (const Index base : result) {
      for (Index i = 0; i < from[axis]; ++i) next.push_back(base + i * step);
    }
    result = std::move(next);
  }
  return result;
}

/// `x` by a Permute, so that its axes whose extents are not 1 are in the order of `axes`.
Imported Builder::transposed(const Node& node, const Imported& x, const std::vector<Index>& axes) {
  std::vector<Index> places;
  for (const Index axis : long_axes(axes, x.logical)) {
    places.push_back(std::ranges::find(x.axes, axis) - x.axes.begin());
  }
  for (Index place = 0; place < std::ssize(x.axes); ++place) {
    const Index axis = x.axes[at(place)];
    if (axis < 0 || x.logical[axis] == 1) places.push_back(place);
  }
  std::vector<Index> order;
  std::vector<Index> counted;
  for (const Index place : places) {
    if (places.size() != x.axes.size() || place == std::ssize(x.axes)) {
      refuse("{} has other axes than [{}] (extents without the batch, as ONNX has them)",
             x.logical.to_string(), fmt::join(axes, ", "));
    }
    order.push_back(x.axes[at(place)]);
    counted.push_back(place + 1);
  }
  Node transpose;
  transpose.name = node.name + "/transpose";
  Imported result = add(transpose, std::make_unique<Permute>(std::move(counted)), {x}, order);
  result.logical = x.logical;
  result.batch = x.batch;
  result.not_negative = x.not_negative;
  return result;
}

Imported Builder::arranged(const Node& node, const Imported& given,
                           const std::vector<Index>& axes) {
  if (given.axes == axes) return given;
  const bool moves = long_axes(given.axes, given.logical) != long_axes(axes, given.logical);
  const Imported x = moves ? transposed(node, given, axes) : given;
  std::vector<Index> extents;
  extents.reserve(axes.size());
  for (const Index axis : axes) extents.push_back(axis < 0 ? 1 : x.logical[axis]);
  Shape target(std::move(extents));
  if (target == x.physical) {
    Imported same = x;
    same.axes = axes;
    return same;
  }
  std::unique_ptr<Layer> layer;
  if (target.rank() == 1) {
    layer = std::make_unique<Flatten>();
  } else {
    layer = std::make_unique<Reshape>(target);
  }
  Node reshape;
  reshape.name = node.name + "/reshape";
  Imported result = add(reshape, std::move(layer), {x}, axes);
  result.logical = x.logical;
  result.batch = x.batch;
  result.not_negative = x.not_negative;
  return result;
}

Imported Builder::image(const Node& node, const Imported& x) {
  if (x.logical.rank() != 3) {
    refuse("expected images [batch, channels, height, width], found [batch, {}]",
           fmt::join(x.logical, ", "));
  }
  return arranged(node, x, kImageAxes);
}

Imported Builder::vector(const Node& node, const Imported& x) {
  if (x.logical.rank() != 1) {
    refuse("expected vectors [batch, features], found [batch, {}]: flatten them first",
           fmt::join(x.logical, ", "));
  }
  return arranged(node, x, {0});
}

Imported Builder::ordered(const Node& node, const Imported& x) {
  if (!x.flattened.has_value()) return x;
  const auto& [logical, axes] = *x.flattened;
  std::vector<Index> extents;
  extents.reserve(axes.size());
  for (const Index axis : axes) extents.push_back(axis < 0 ? 1 : logical[axis]);
  Node part;
  part.name = node.name + "/image";
  Imported image = add(part, std::make_unique<Reshape>(Shape(std::move(extents))), {x}, axes);
  image.logical = logical;
  image = arranged(node, image, counting(logical.rank()));
  part.name = node.name + "/ordered";
  Imported result = add(part, std::make_unique<Flatten>(), {image}, {0});
  result.batch = x.batch;
  result.not_negative = x.not_negative;
  return result;
}

Imported Builder::reshaped(const Node& node, const Imported& x, const Shape& logical) {
  if (logical == x.logical) return x;
  if (logical.size() != x.logical.size()) {
    refuse("{} cannot become {} (extents without the batch)", x.logical.to_string(),
           logical.to_string());
  }
  Imported result = x;
  if (!x.flattened.has_value() && long_extents(x.logical) == long_extents(logical)) {
    result.axes = renamed(x, logical);
    result.logical = logical;
    return result;
  }
  if (x.flattened.has_value()) return reshaped(node, ordered(node, x), logical);
  // A vector may be in another order, which the weights of the layer that reads it then have too.
  const bool moves = !x.in_order() && logical.rank() != 1;
  const Imported read = moves ? arranged(node, x, counting(x.logical.rank())) : x;
  std::unique_ptr<Layer> layer;
  if (logical.rank() == 1) {
    layer = std::make_unique<Flatten>();
  } else {
    layer = std::make_unique<Reshape>(logical);
  }
  result = add(node, std::move(layer), {read}, counting(logical.rank()));
  result.not_negative = x.not_negative;
  if (!read.in_order()) result.flattened = Flattened{x.logical, x.axes};
  return result;
}

/// Returns `x` with its axes in the order of images, of sequences or, of other ranks, of the file.
Imported Builder::as_result(const Node& node, const Imported& x) {
  const Index rank = x.logical.rank();
  const std::vector<Index> present = long_axes(x.axes, x.logical);
  if (rank != 1 && std::ranges::is_sorted(present)) return x;
  const std::vector<Index> order = rank == 3   ? kImageAxes
                                   : rank == 2 ? kSequenceAxes
                                               : counting(rank);
  return rank != 1 && present == long_axes(order, x.logical) ? x : arranged(node, x, order);
}

Imported without_axes(Builder& builder, const Node& node, const Imported& x,
                      const std::vector<bool>& is_dropped) {
  std::vector<Index> extents;
  BatchPlace batch = x.batch;
  for (Index i = 0; i < x.logical.rank(); ++i) {
    if (!is_dropped[at(i)]) {
      extents.push_back(x.logical[i]);
    } else if (i < x.batch.axis) {
      --batch.axis;
    }
  }
  if (extents.empty()) refuse("nothing but the batch would be left");
  Imported result = builder.reshaped(node, x, Shape(std::move(extents)));
  result.batch = batch;
  return result;
}

Imported permuted(const Imported& x, const std::vector<Index>& axes) {
  Imported result = x;
  std::vector<Index> extents;
  extents.reserve(axes.size());
  for (const Index axis : axes) extents.push_back(x.logical[axis]);
  result.logical = Shape(std::move(extents));
  for (Index& axis : result.axes) {
    if (axis >= 0) axis = std::ranges::find(axes, axis) - axes.begin();
  }
  return result;
}

Imported with_all_axes(Builder& builder, const Node& node, const Imported& x) {
  std::vector<Index> axes = x.axes;
  for (Index axis = 0; axis < x.logical.rank(); ++axis) {
    if (std::ranges::find(axes, axis) == axes.end()) axes.push_back(axis);
  }
  return builder.arranged(node, x, axes);
}

}  // namespace octet::detail::onnx_import
