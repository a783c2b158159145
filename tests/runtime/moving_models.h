#pragma once

#include <octet/tests/core/draw.h>
#include <octet/tests/runtime/models.h>

#include <algorithm>
#include <cstdint>
#include <vector>

// Models of one operator that only moves elements, and what they compute by lists of places.

namespace octet::test {

using Extents = std::vector<std::int32_t>;

/// `model`, whose first axis of 1 is a batch of any size in every value of samples.
inline IntegerModel with_any_batch(IntegerModel model) {
  for (ModelTensor& tensor : model.tensors) {
    if (tensor.is_constant()) continue;
    tensor.shape_signature = tensor.shape;
    tensor.shape_signature[0] = -1;
  }
  return model;
}

/// The shape of one example with a batch of 1 in front.
inline Extents with_batch(Extents example) {
  example.insert(example.begin(), 1);
  return example;
}

// ---- STRIDED_SLICE

struct Slicing {
  Extents shape{2, 3, 4};
  Extents begin{0, 1, 0};
  Extents end{2, 3, 4};
  Extents strides{1, 1, 2};
  StridedSliceAttributes attributes{};
  QuantParams params = quant(0.05F, 3);
  DType dtype = DType::int8;

  /// By axis: the places that are taken.
  std::vector<Extents> places() const {
    std::vector<Extents> result;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const auto has = [&](std::int32_t mask) { return (mask >> i) % 2 == 1; };
      const bool is_given = i < begin.size();
      std::int32_t at = is_given && !has(attributes.begin_mask) ? begin[i] : 0;
      std::int32_t last = is_given && !has(attributes.end_mask) ? end[i] : shape[i];
      if (at < 0) at += shape[i];
      if (last < 0) last += shape[i];
      if (is_given && has(attributes.shrink_axis_mask)) last = at + 1;
      Extents& of_axis = result.emplace_back();
      for (; at < std::min(last, shape[i]); at += is_given ? strides[i] : 1) of_axis.push_back(at);
    }
    return result;
  }
  Extents result_shape() const {
    Extents result;
    const auto all = places();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool drops = i < begin.size() && (attributes.shrink_axis_mask >> i) % 2 == 1;
      if (!drops) result.push_back(static_cast<std::int32_t>(all[i].size()));
    }
    return result;
  }
};

inline IntegerModel slice_model(const Slicing& s) {
  RawModelBuilder b;
  const QuantParams none{{}, {}, 0, 0, 0};
  b.model.inputs = {b.add({"x", s.dtype, s.shape, {}, s.params, {}})};
  std::vector<std::int32_t> operands{0};
  const Extents count{static_cast<std::int32_t>(s.begin.size())};
  operands.push_back(b.constant("begin", count, DType::int32, s.begin, none));
  operands.push_back(b.constant("end", count, DType::int32, s.end, none));
  operands.push_back(b.constant("strides", count, DType::int32, s.strides, none));
  b.model.outputs = {b.add({"y", s.dtype, s.result_shape(), {}, s.params, {}})};
  b.op(OpCode::strided_slice, operands, b.model.outputs[0], s.attributes);
  return b.model;
}

/// The elements of `x` at every combination of places, the last axis fastest.
template <class T>
std::vector<T> elements_at(const Extents& shape, const std::vector<Extents>& places,
                           const std::vector<T>& x) {
  std::vector<std::size_t> indices{0};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::vector<std::size_t> next;
    for (const std::size_t index : indices) {
      for (const std::int32_t place : places[i]) {
        next.push_back(index * static_cast<std::size_t>(shape[i]) +
                       static_cast<std::size_t>(place));
      }
    }
    indices = std::move(next);
  }
  std::vector<T> y;
  for (const std::size_t index : indices) y.push_back(x.at(index));
  return y;
}

template <class T>
std::vector<T> naive_slice(const Slicing& s, const std::vector<T>& x) {
  return elements_at(s.shape, s.places(), x);
}

/// Some axes from the front, others by a mask, others dropped; of the last ones all where nothing
/// is said of them.
inline Slicing draw_slicing(Draw& draw, std::int32_t most_axes = 5) {
  Slicing s{.shape = {}, .begin = {}, .end = {}, .strides = {}};
  for (std::int32_t i = draw.between(1, most_axes); i > 0; --i) {
    s.shape.push_back(draw.between(1, 9));
  }
  const std::int32_t given = draw.between(1, static_cast<std::int32_t>(s.shape.size()));
  for (std::int32_t i = 0; i < given; ++i) {
    const std::int32_t extent = s.shape[static_cast<std::size_t>(i)];
    const std::int32_t first = draw.between(0, extent - 1);
    const std::int32_t last = draw.between(first + 1, extent);
    s.begin.push_back(draw.between(0, 1) == 0 ? first : first - extent);
    s.end.push_back(draw.between(0, 1) == 0 || last == extent ? last : last - extent);
    s.strides.push_back(draw.between(1, 3));
    const std::int32_t bit = 1 << i;
    if (draw.between(0, 3) == 0) s.attributes.begin_mask |= bit;
    if (draw.between(0, 3) == 0) s.attributes.end_mask |= bit;
    if (draw.between(0, 4) == 0) s.attributes.shrink_axis_mask |= bit;
  }
  s.params = quant(0.05F, draw.between(-128, 127));
  return s;
}

/// `s` of each example of a batch of any size.
inline IntegerModel batched_slice_model(Slicing s) {
  s.shape = with_batch(std::move(s.shape));
  s.begin = with_batch(std::move(s.begin));
  s.end = with_batch(std::move(s.end));
  s.strides = with_batch(std::move(s.strides));
  s.attributes = {.begin_mask = s.attributes.begin_mask * 2 + 1,
                  .end_mask = s.attributes.end_mask * 2 + 1,
                  .shrink_axis_mask = s.attributes.shrink_axis_mask * 2};
  return with_any_batch(slice_model(s));
}

// ---- TRANSPOSE

struct Transposition {
  Extents shape{2, 3, 4};
  Extents axes{0, 2, 1};
  QuantParams params = quant(0.05F, 3);
  DType dtype = DType::int8;

  std::int32_t axis(std::size_t i) const {
    return axes[i] < 0 ? axes[i] + static_cast<std::int32_t>(shape.size()) : axes[i];
  }
  Extents result_shape() const {
    Extents result;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      result.push_back(shape[static_cast<std::size_t>(axis(i))]);
    }
    return result;
  }
};

inline IntegerModel transpose_model(const Transposition& t) {
  RawModelBuilder b;
  b.model.inputs = {b.add({"x", t.dtype, t.shape, {}, t.params, {}})};
  const Extents count{static_cast<std::int32_t>(t.axes.size())};
  const std::int32_t axes =
      b.constant("axes", count, DType::int32, t.axes, QuantParams{{}, {}, 0, 0, 0});
  b.model.outputs = {b.add({"y", t.dtype, t.result_shape(), {}, t.params, {}})};
  b.op(OpCode::transpose, {0, axes}, b.model.outputs[0]);
  return b.model;
}

/// Puts each element of `x` where its places, in their new order, say.
template <class T>
std::vector<T> naive_transpose(const Transposition& t, const std::vector<T>& x) {
  const Extents to = t.result_shape();
  std::vector<T> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    Extents places(t.shape.size());
    auto rest = static_cast<std::int32_t>(i);
    for (std::size_t k = t.shape.size(); k-- > 0;) {
      places[k] = rest % t.shape[k];
      rest /= t.shape[k];
    }
    std::int32_t index = 0;
    for (std::size_t k = 0; k < to.size(); ++k) {
      index = index * to[k] + places[static_cast<std::size_t>(t.axis(k))];
    }
    y.at(static_cast<std::size_t>(index)) = x[i];
  }
  return y;
}

inline Transposition draw_transposition(Draw& draw, std::int32_t most_axes = 5) {
  Transposition t{.shape = {}, .axes = {}};
  for (std::int32_t i = 0, rank = draw.between(1, most_axes); i < rank; ++i) {
    t.shape.push_back(draw.between(1, 9));
    t.axes.insert(t.axes.begin() + draw.between(0, i), i);
  }
  for (std::int32_t& axis : t.axes) {
    if (draw.between(0, 4) == 0) axis -= static_cast<std::int32_t>(t.axes.size());
  }
  t.params = quant(0.05F, draw.between(-128, 127));
  return t;
}

/// `t` of each example of a batch of any size.
inline IntegerModel batched_transpose_model(Transposition t) {
  for (std::size_t i = 0; i < t.axes.size(); ++i) t.axes[i] = t.axis(i) + 1;
  t.shape = with_batch(std::move(t.shape));
  t.axes.insert(t.axes.begin(), 0);
  return with_any_batch(transpose_model(t));
}

// ---- SPLIT

struct Splitting {
  Extents shape{2, 6, 2};
  std::int32_t axis = 1;
  std::int32_t parts = 3;
  QuantParams params = quant(0.05F, 3);
  DType dtype = DType::int8;

  std::size_t place() const {
    return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int32_t>(shape.size())
                                             : axis);
  }
  Extents part_shape() const {
    Extents result = shape;
    result[place()] /= parts;
    return result;
  }
};

/// Every part is an output of the model.
inline IntegerModel split_model(const Splitting& s) {
  RawModelBuilder b;
  b.model.inputs = {b.add({"x", s.dtype, s.shape, {}, s.params, {}})};
  const std::int32_t axis =
      b.constant("axis", {}, DType::int32, std::vector{s.axis}, QuantParams{{}, {}, 0, 0, 0});
  for (std::int32_t i = 0; i < s.parts; ++i) {
    b.model.outputs.push_back(
        b.add({"y" + std::to_string(i), s.dtype, s.part_shape(), {}, s.params, {}}));
  }
  b.op(OpCode::split, {0, axis}, b.model.outputs[0], SplitAttributes{.num_splits = s.parts})
      .outputs = b.model.outputs;
  return b.model;
}

/// Part `number`.
template <class T>
std::vector<T> naive_part(const Splitting& s, std::int32_t number, const std::vector<T>& x) {
  std::vector<Extents> places;
  for (std::size_t i = 0; i < s.shape.size(); ++i) {
    const std::int32_t extent = s.part_shape()[i];
    const std::int32_t first = i == s.place() ? number * extent : 0;
    Extents& of_axis = places.emplace_back();
    for (std::int32_t k = 0; k < extent; ++k) of_axis.push_back(first + k);
  }
  return elements_at(s.shape, places, x);
}

inline Splitting draw_splitting(Draw& draw, std::int32_t most_axes = 5) {
  Splitting s{.shape = {}, .parts = draw.between(1, 4)};
  for (std::int32_t i = draw.between(1, most_axes); i > 0; --i) {
    s.shape.push_back(draw.between(1, 5));
  }
  const auto rank = static_cast<std::int32_t>(s.shape.size());
  s.axis = draw.between(-rank, rank - 1);
  s.shape[s.place()] *= s.parts;
  s.params = quant(0.05F, draw.between(-128, 127));
  return s;
}

/// The parts put together again in another order, so that the model has one output.
inline IntegerModel split_and_join_model(const Splitting& s) {
  IntegerModel model = split_model(s);
  std::vector<std::int32_t> parts(model.outputs.rbegin(), model.outputs.rend());
  if (parts.size() == 1) {
    model.tensors.back().name = "y";
    return model;
  }
  ModelTensor joined = model.tensors[0];
  joined.name = "y";
  model.tensors.push_back(std::move(joined));
  model.outputs = {static_cast<std::int32_t>(model.tensors.size() - 1)};
  model.operators.push_back({.code = OpCode::concatenation,
                             .inputs = parts,
                             .outputs = model.outputs,
                             .attributes = ConcatenationAttributes{.axis = s.axis}});
  return model;
}

/// `s` of each example of a batch of any size.
inline IntegerModel batched_split_model(Splitting s) {
  s.axis = static_cast<std::int32_t>(s.place()) + 1;
  s.shape = with_batch(std::move(s.shape));
  return with_any_batch(split_and_join_model(s));
}

}  // namespace octet::test
