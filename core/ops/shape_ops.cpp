#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/autograd_internal.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/ops/map.h>
#include <octet/core/ops/quantized_tensor.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/core/tensor_internal.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace octet {
namespace {

using detail::Axis;
using detail::TensorAccess;
using detail::Walk;

/// `wanted` with its -1, if any, replaced by what the other extents leave of `count` elements.
/// Nothing where they do not fit.
std::optional<Shape> resolve(const Shape& wanted, Index count) {
  const auto unknown = std::ranges::find(wanted.dims(), -1);
  if (unknown == wanted.dims().end()) {
    return wanted.size() == count ? std::optional(wanted) : std::nullopt;
  }
  const auto axis = static_cast<Index>(unknown - wanted.dims().begin());
  const Shape known = wanted.without_dim(axis);
  if (std::ranges::any_of(known.dims(), [](Index extent) { return extent < 0; })) return {};
  const Index rest = known.size();
  if (rest == 0 || count % rest != 0) return {};
  return wanted.with_dim(axis, count / rest);
}

/// Walks `axes`, which lie in `strided`, in order: move(a, step, b, count) for `count` elements of
/// it, `step` apart, and their likes, neighbours in `dense`.
template <class Strided, class Dense, class Move>
void walk_strided(const std::vector<Axis<1>>& axes, Strided* strided, Dense* dense, Move&& move) {
  const Axis<1> inner = axes.empty() ? Axis<1>{1, {1}} : axes.back();
  const std::span<const Axis<1>> outer(axes.data(), axes.empty() ? 0 : axes.size() - 1);
  parallel_for(static_cast<std::size_t>(detail::count_of(outer)),
               detail::row_grain(Work::map_floats, inner.extent),
               [&](std::size_t begin, std::size_t end) {
                 Walk<1> row(outer, static_cast<Index>(begin));
                 for (std::size_t i = begin; i < end; ++i, row.next()) {
                   move(strided + row.offset(0), inner.strides[0],
                        dense + static_cast<Index>(i) * inner.extent, inner.extent);
                 }
               });
}

/// Calls copy(from, to) on the elements of x, to elements of a tensor of `shape`: on integers where
/// x stores quantized values, which then need no floats.
template <class Copy>
Tensor moved(const Tensor& x, const Shape& shape, Copy&& copy) {
  const detail::StoredIntegers stored = TensorAccess::integers(x);
  const auto of_integers = [&](const auto* from) {
    using T = std::remove_cvref_t<decltype(*from)>;
    auto to = allocate_array<T>(static_cast<std::size_t>(shape.size()));
    if (shape.size() > 0) copy(from, to.get());
    return quantized_tensor(shape, x.quantization(), std::move(to));
  };
  if (x.quantization() != nullptr) {
    if (const auto* const from = stored.as<std::int8_t>()) return of_integers(from);
    if (const auto* const from = stored.as<std::int16_t>()) return of_integers(from);
  }
  Tensor y(shape);
  if (y.size() > 0) copy(x.data(), y.mutable_data());
  return y;
}

/// One copy: out's neighbours are `axes` walked in order.
template <class T>
void copy_strided(const std::vector<Axis<1>>& axes, const T* in, T* out) {
  walk_strided(axes, in, out, [](const T* from, Index step, T* to, Index count) {
    if (step == 1) {  // Neighbours are moved several at a time.
      std::copy_n(from, count, to);
    } else {
      for (Index i = 0; i < count; ++i) to[i] = from[i * step];
    }
  });
}

void check_slices(const Shape& shape, const std::vector<AxisSlice>& axes) {
  if (std::ssize(axes) != shape.rank()) {
    throw InvalidArgument(fmt::format("slice: expected a slice for each axis of shape {}, found {}",
                                      shape.to_string(), axes.size()));
  }
  for (Index i = 0; i < shape.rank(); ++i) {
    const AxisSlice& axis = axes[static_cast<std::size_t>(i)];
    if (axis.begin >= 0 && axis.begin <= axis.end && axis.end <= shape[i] && axis.step >= 1) {
      continue;
    }
    throw InvalidArgument(fmt::format(
        "slice: expected 0 <= begin <= end <= {} and a step of at least 1 for axis {} of shape {}, "
        "found [{}, {}) in steps of {}",
        shape[i], i, shape.to_string(), axis.begin, axis.end, axis.step));
  }
}

/// The axes counted from the front.
std::vector<Index> check_permutation(const Shape& shape, const std::vector<Index>& axes) {
  std::vector<Index> order;
  for (const Index axis : axes) {
    const Index counted = axis < 0 ? axis + shape.rank() : axis;
    const bool seen = std::ranges::find(order, counted) != order.end();
    if (counted < 0 || counted >= shape.rank() || seen) break;
    order.push_back(counted);
  }
  if (order.size() != axes.size() || static_cast<Index>(order.size()) != shape.rank()) {
    throw InvalidArgument(fmt::format("permute: expected each axis of shape {} once, found {}",
                                      shape.to_string(), Shape(axes).to_string()));
  }
  return order;
}

/// The shape of the parts laid end to end.
Shape check_parts(const std::vector<Tensor>& parts, Index axis) {
  const Shape& first = parts.front().shape();
  Index total = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Shape& shape = parts[i].shape();
    if (shape.rank() != first.rank() || shape.with_dim(axis, 0) != first.with_dim(axis, 0)) {
      throw InvalidArgument(
          fmt::format("concatenate: expected every part to be {} but for axis {}, found {} as part "
                      "{}",
                      first.to_string(), axis, shape.to_string(), i));
    }
    total += shape[axis];
  }
  return first.with_dim(axis, total);
}

/// Copies between a part and its place in the whole: for each of `blocks`, `size` neighbours.
void copy_blocks(const float* from, Index from_stride, float* to, Index to_stride, Index blocks,
                 Index size) {
  for (Index i = 0; i < blocks; ++i) {
    std::copy_n(from + i * from_stride, size, to + i * to_stride);
  }
}

}  // namespace

Tensor reshape(const Tensor& x, const Shape& shape) {
  const std::optional<Shape> resolved = resolve(shape, x.size());
  if (!resolved) {
    throw InvalidArgument(fmt::format(
        "reshape: {} elements of shape {} do not fit shape {}; at most one extent may be -1",
        x.size(), x.shape().to_string(), shape.to_string()));
  }
  const auto backward = [from = x.shape()](const Tensor& g) {
    return std::vector<Tensor>{TensorAccess::view(g, from)};
  };
  return record("reshape", TensorAccess::view(x, *resolved), {x}, backward, BackwardReads::nothing);
}

Tensor transpose(const Tensor& x) {
  if (x.rank() != 2) {
    throw InvalidArgument(
        fmt::format("transpose: expected rank 2, found shape {}; permute() takes any rank",
                    x.shape().to_string()));
  }
  return permute(x, {1, 0});
}

Tensor permute(const Tensor& x, const std::vector<Index>& axes) {
  const std::vector<Index> order = check_permutation(x.shape(), axes);
  const std::vector<Index> strides = detail::row_major_strides(x.shape());
  std::vector<Axis<1>> loop;
  std::vector<Index> dims;
  for (const Index axis : order) {
    dims.push_back(x.shape()[axis]);
    loop.push_back({x.shape()[axis], {strides[static_cast<std::size_t>(axis)]}});
  }
  const std::vector<Axis<1>> merged = detail::merge_axes(loop);
  const Tensor y = moved(x, Shape(std::move(dims)),
                         [&](const auto* from, auto* to) { copy_strided(merged, from, to); });
  const auto backward = [order](const Tensor& g) {
    std::vector<Index> inverse(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      inverse[static_cast<std::size_t>(order[i])] = static_cast<Index>(i);
    }
    return std::vector<Tensor>{permute(g, inverse)};
  };
  return record("permute", y, {x}, backward, BackwardReads::nothing);
}

Tensor concatenate(const std::vector<Tensor>& parts, Index axis) {
  if (parts.empty()) throw InvalidArgument("concatenate: expected at least one part, found none");
  const Index counted = parts.front().shape().normalize_axis(axis);
  Tensor y(check_parts(parts, counted));
  Index blocks = 1;
  for (Index i = 0; i < counted; ++i) blocks *= y.shape()[i];
  const Index stride = blocks == 0 ? 0 : y.size() / blocks;
  Index offset = 0;
  for (const Tensor& part : parts) {
    const Index size = blocks == 0 ? 0 : part.size() / blocks;
    copy_blocks(part.data(), size, y.mutable_data() + offset, stride, blocks, size);
    offset += size;
  }
  const auto backward = [parts, blocks, stride](const Tensor& g) {
    std::vector<Tensor> grads;
    Index start = 0;
    for (const Tensor& part : parts) {
      const Index size = blocks == 0 ? 0 : part.size() / blocks;
      Tensor& grad = grads.emplace_back(part.shape());
      copy_blocks(g.data() + start, stride, grad.mutable_data(), size, blocks, size);
      start += size;
    }
    return grads;
  };
  return record("concatenate", y, parts, backward, BackwardReads::nothing);
}

Tensor slice(const Tensor& x, const std::vector<AxisSlice>& axes) {
  check_slices(x.shape(), axes);
  const std::vector<Index> strides = detail::row_major_strides(x.shape());
  std::vector<Axis<1>> loop;
  std::vector<Index> dims;
  Index first = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    dims.push_back(axes[i].extent());
    loop.push_back({dims.back(), {axes[i].step * strides[i]}});
    first += axes[i].begin * strides[i];
  }
  loop = detail::merge_axes(loop);
  const Tensor y = moved(x, Shape(std::move(dims)),
                         [&](const auto* from, auto* to) { copy_strided(loop, from + first, to); });
  return detail::record_part("slice", y, x, [loop, first](const Tensor& g, Tensor& sum) {
    if (g.size() == 0) return;
    walk_strided(loop, sum.mutable_data() + first, g.data(),
                 [](float* to, Index step, const float* from, Index count) {
                   if (step == 1) {
                     for (Index i = 0; i < count; ++i) to[i] += from[i];
                   } else {
                     for (Index i = 0; i < count; ++i) to[i * step] += from[i];
                   }
                 });
  });
}

Tensor take_rows(const Tensor& table, const Tensor& indices, std::string_view who) {
  if (table.rank() != 2) {
    throw InvalidArgument(fmt::format("{}: expected a table [rows, features], found {}", who,
                                      table.shape().to_string()));
  }
  std::vector<Index> places;
  places.reserve(static_cast<std::size_t>(indices.size()));
  for (const float index : indices.span()) {
    const float whole = std::trunc(index);
    if (!(whole >= 0.0F && whole < static_cast<float>(table.dim(0)))) {
      throw InvalidArgument(
          fmt::format("{}: expected indices from 0 to {}, found {} as number {}; is it of another "
                      "vocabulary?",
                      who, table.dim(0) - 1, index, places.size()));
    }
    places.push_back(static_cast<Index>(whole));
  }
  const Index row = table.dim(1);
  std::vector<Index> dims(indices.shape().begin(), indices.shape().end());
  dims.push_back(row);
  const Tensor y = moved(table, Shape(std::move(dims)), [&](const auto* from, auto* to) {
    for (const Index place : places) to = std::copy_n(from + place * row, row, to);
  });
  return detail::record_part("take_rows", y, table,
                             [places = std::move(places), row](const Tensor& g, Tensor& sum) {
                               const float* from = g.data();
                               for (const Index place : places) {
                                 float* const to = sum.mutable_data() + place * row;
                                 for (Index i = 0; i < row; ++i) to[i] += *from++;
                               }
                             });
}

Tensor slice(const Tensor& x, Index begin, Index end) {
  if (x.rank() == 0) throw InvalidArgument("slice: expected rank 1 or more, found a scalar");
  if (begin < 0 || begin > end || end > x.shape()[0]) {
    throw InvalidArgument(fmt::format("slice: rows [{}, {}) are outside shape {}", begin, end,
                                      x.shape().to_string()));
  }
  const Index row = x.shape().without_batch().size();
  const Tensor y = TensorAccess::view(x, x.shape().with_dim(0, end - begin), begin * row);
  return detail::record_part("slice", y, x, [offset = begin * row](const Tensor& g, Tensor& sum) {
    float* const to = sum.mutable_data() + offset;
    for (Index i = 0; i < g.size(); ++i) to[i] += g.data()[i];
  });
}

Tensor Tensor::reshape(const Shape& shape) const { return octet::reshape(*this, shape); }

Tensor Tensor::slice(Index begin, Index end) const { return octet::slice(*this, begin, end); }

}  // namespace octet
