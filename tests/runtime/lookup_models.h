#pragma once

#include <octet/tests/runtime/moving_models.h>

#include <algorithm>
#include <cstdint>
#include <vector>

// Models of one CAST, one GATHER, and one ARG_MAX.

namespace octet::test {

inline IntegerModel cast_model(DType from, DType to) {
  RawModelBuilder b;
  b.model.inputs = {b.add({"x", from, {1, 3}, {}, {}, {}})};
  b.model.outputs = {b.add({"y", to, {1, 3}, {}, {}, {}})};
  b.op(OpCode::cast, b.model.inputs, b.model.outputs[0]);
  return b.model;
}

/// Three indices of rows of two values, 0 to 9.
inline IntegerModel gather_model(DType dtype = DType::float32, const QuantParams& grid = {}) {
  RawModelBuilder b;
  b.model.inputs = {b.add({"indices", DType::int32, {1, 3}, {}, {}, {}})};
  std::vector<float> floats;
  std::vector<std::int8_t> codes;
  for (std::int8_t i = 0; i < 10; ++i) {
    floats.push_back(i);
    codes.push_back(i);
  }
  const auto table = dtype == DType::int8 ? b.constant("table", {5, 2}, dtype, codes, grid)
                                          : b.constant("table", {5, 2}, dtype, floats);
  b.model.outputs = {b.add({"y", dtype, {1, 3, 2}, {}, grid, {}})};
  b.op(OpCode::gather, {0, table}, b.model.outputs[0]);
  return b.model;
}

// ---- ARG_MAX

struct Largest {
  Extents shape{2, 3, 4};
  std::int32_t axis = 1;
  QuantParams params = quant(0.05F, 3);
  DType dtype = DType::int8;

  std::size_t place() const {
    return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int32_t>(shape.size())
                                             : axis);
  }
};

inline IntegerModel arg_max_model(const Largest& l) {
  const QuantParams none{{}, {}, 0, 0, 0};
  RawModelBuilder b;
  b.model.inputs = {b.add({"x", l.dtype, l.shape, {}, l.params, {}})};
  const std::int32_t axis = b.constant("axis", {}, DType::int32, std::vector{l.axis}, none);
  Extents result = l.shape;
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(l.place()));
  b.model.outputs = {b.add({"y", DType::int32, result, {}, none, {}})};
  b.op(OpCode::arg_max, {0, axis}, b.model.outputs[0]);
  return b.model;
}

/// Puts each element into the list of its place along all other axes.
template <class T>
std::vector<std::int32_t> naive_arg_max(const Largest& l, const std::vector<T>& x) {
  const auto extents = static_cast<std::size_t>(l.shape[l.place()]);
  std::vector<std::vector<T>> lists(x.size() / extents);
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::size_t rest = i;
    std::size_t list = 0;
    std::size_t stride = 1;
    for (std::size_t k = l.shape.size(); k-- > 0;) {
      const auto extent = static_cast<std::size_t>(l.shape[k]);
      if (k != l.place()) {
        list += rest % extent * stride;
        stride *= extent;
      }
      rest /= extent;
    }
    lists[list].push_back(x[i]);
  }
  std::vector<std::int32_t> y;
  for (const std::vector<T>& list : lists) {
    y.push_back(static_cast<std::int32_t>(std::ranges::max_element(list) - list.begin()));
  }
  return y;
}

inline Largest draw_arg_max(Draw& draw, std::int32_t most_axes = 6) {
  Largest l{.shape = {}};
  for (std::int32_t i = draw.between(1, most_axes); i > 0; --i) {
    l.shape.push_back(draw.between(1, 6));
  }
  const auto rank = static_cast<std::int32_t>(l.shape.size());
  l.axis = draw.between(-rank, rank - 1);
  l.params = quant(0.05F, draw.between(-128, 127));
  return l;
}

/// `l` of each example of a batch of any size.
inline IntegerModel batched_arg_max_model(Largest l) {
  l.axis = static_cast<std::int32_t>(l.place()) + 1;
  l.shape = with_batch(std::move(l.shape));
  return with_any_batch(arg_max_model(l));
}

}  // namespace octet::test
