#pragma once

#include <octet/core/ops/real_parts.h>
#include <octet/core/parallel.h>
#include <octet/core/strides.h>
#include <octet/core/tensor.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

namespace octet::detail {

/// The parallel grain, in rows, for rows of `row_size` elements.
inline std::size_t row_grain(Work work, Index row_size) {
  return parallel_grain(work, static_cast<std::size_t>(row_size));
}

/// out[i] = f(elements begin + i of `in`...) for the elements [begin, end).
template <class F, std::size_t N, std::size_t... n>
void map_parts(const F& f, std::size_t begin, std::size_t end, float* out,
               const std::array<RealParts, N>& in, std::index_sequence<n...>) {
  std::array<std::array<float, RealParts::kMost>, N> memory;
  const auto run = [&f](float* to, std::size_t count, const auto*... from) {
    for (std::size_t i = 0; i < count; ++i) to[i] = f(from[i]...);
  };
  while (begin < end) {
    const std::size_t next = std::min(end, begin + RealParts::kMost);
    run(out, next - begin, in[n].read(begin, next, memory[n].data())...);
    out += next - begin;
    begin = next;
  }
}

/// f of the elements of tensors of one shape, in one pass.
template <class F, class... Rest>
Tensor map(Work work, F f, const Tensor& first, const Rest&... rest) {
  constexpr std::size_t kCount = 1 + sizeof...(Rest);
  const std::array<RealParts, kCount> in = {RealParts(first), RealParts(rest)...};
  Tensor result(first.shape());
  float* out = result.mutable_data();
  parallel_for(static_cast<std::size_t>(result.size()), parallel_grain(work),
               [&](std::size_t begin, std::size_t end) {
                 map_parts(f, begin, end, out + begin, in, std::make_index_sequence<kCount>());
               });
  return result;
}

/// map() of two tensors; where both store int8, its result is computed where it is read: limits are
/// measured and gradients masked part by part.
template <class F>
Tensor map_where_read(F f, const Tensor& a, const Tensor& b) {
  const std::array<RealParts, 2> in = {RealParts(a), RealParts(b)};
  if (!in[0].computes() || !in[1].computes()) return map(Work::map_floats, f, a, b);
  constexpr std::size_t kGrain = 4 * RealParts::kMost;  // fits the first-level cache as well
  const auto compute = [in, f](std::size_t begin, std::size_t end, float* out, MemoryParts) {
    map_parts(f, begin, end, out, in, std::make_index_sequence<2>());
  };
  return TensorAccess::lazy(a.shape(), {kGrain, compute, 1});
}

/// One operand of an inner loop: it moves along, or stays at one element.
template <bool kMoves>
struct Operand {
  const float* data;
  explicit Operand(const float* start) : data(start) {}
  float operator[](Index i) const { return data[i]; }
};
template <>
struct Operand<false> {
  float value;
  explicit Operand(const float* start) : value(*start) {}
  float operator[](Index) const { return value; }
};

/// out[i] = f(operands at i...); bit n of kMoving says whether operand n moves.
template <std::size_t kMoving, class F, std::size_t... n>
void map_span(const F& f, float* out, Index count, const std::array<const float*, sizeof...(n)>& in,
              std::index_sequence<n...>) {
  const std::tuple operands{Operand<((kMoving >> n) & 1U) != 0>(in[n])...};
  for (Index i = 0; i < count; ++i) out[i] = f(std::get<n>(operands)[i]...);
}

/// Calls map_span with the constant that equals `moving`, so that each case is a plain loop.
template <class F, std::size_t N, std::size_t... kMoving>
void map_span_as(std::size_t moving, const F& f, float* out, Index count,
                 const std::array<const float*, N>& in, std::index_sequence<kMoving...>) {
  ((moving == kMoving ? map_span<kMoving>(f, out, count, in, std::make_index_sequence<N>())
                      : void()),
   ...);
}

/// f of the elements of tensors that broadcast to `shape`, in one pass and without a copy of any.
template <class F, class... Tensors>
Tensor broadcast_map(const Shape& shape, F f, const Tensors&... tensors) {
  constexpr std::size_t kCount = sizeof...(Tensors);
  if (((tensors.shape() == shape) && ...)) return map(Work::map_floats, f, tensors...);
  Tensor result(shape);
  if (result.size() == 0) return result;

  const std::array<std::vector<Index>, kCount> strides = {
      broadcast_strides(tensors.shape(), shape)...};
  std::vector<Axis<kCount>> axes;
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape.rank()); ++i) {
    Axis<kCount>& axis = axes.emplace_back(Axis<kCount>{shape[static_cast<Index>(i)], {}});
    for (std::size_t n = 0; n < kCount; ++n) axis.strides[n] = strides[n][i];
  }
  axes = merge_axes(axes);
  if (axes.empty()) axes.push_back({1, {}});
  // The last axis is the inner loop: there, strides can only be 1 and 0.
  const Axis<kCount> inner = axes.back();
  const std::span<const Axis<kCount>> outer(axes.data(), axes.size() - 1);
  std::size_t moving = 0;
  for (std::size_t n = 0; n < kCount; ++n)
    moving |= static_cast<std::size_t>(inner.strides[n]) << n;

  parallel_for(static_cast<std::size_t>(result.size()), parallel_grain(Work::map_floats),
               [&](std::size_t begin, std::size_t end) {
                 const auto last = static_cast<Index>(end);
                 auto position = static_cast<Index>(begin);
                 Walk<kCount> walk(outer, position / inner.extent);
                 for (Index column = position % inner.extent; position < last;
                      column = 0, walk.next()) {
                   const Index count = std::min(inner.extent - column, last - position);
                   std::array<const float*, kCount> in = {tensors.data()...};
                   for (std::size_t n = 0; n < kCount; ++n)
                     in[n] += walk.offset(n) + column * inner.strides[n];
                   map_span_as(moving, f, result.mutable_data() + position, count, in,
                               std::make_index_sequence<(std::size_t{1} << kCount)>());
                   position += count;
                 }
               });
  return result;
}

}  // namespace octet::detail
