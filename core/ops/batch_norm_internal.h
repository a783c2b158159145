#pragma once

#include <octet/core/ops/map.h>
#include <octet/core/ops/partial_sums.h>
#include <octet/core/tensor.h>

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

namespace octet::detail {

// What the ops of batch normalization share: all channels lie along the last axis of x.

/// Throws InvalidArgument unless `found`, called `what`, is [channels].
void require_channels(std::string_view operation, std::string_view what, const Tensor& found,
                      Index channels);
/// Throws InvalidArgument unless epsilon is a finite number above 0.
void require_epsilon(std::string_view operation, float epsilon);

/// 1 / sqrt(variance + epsilon), [c]: computed in double, rounded once.
Tensor inverse_deviations(const Tensor& variance, float epsilon);

inline Index rows_of(const Tensor& x) { return x.shape().without_dim(-1).size(); }

/// The sum over all rows of term(i, channel), where i is the position of an element of x, for each
/// of `kTerms` terms: [kTerms, c].
template <std::size_t kTerms, class Term>
Tensor sum_rows(const Tensor& x, Term term) {
  const Index channels = x.dim(-1);
  const auto size = static_cast<std::size_t>(channels);
  return sum_of_parts({kTerms, channels}, rows_of(x), [&](Index begin, Index end, float* sums) {
    std::vector<double> totals(kTerms * size);
    for (Index row = begin; row < end; ++row) {
      for (std::size_t c = 0; c < size; ++c) {
        const auto terms = term(static_cast<std::size_t>(row) * size + c, c);
        for (std::size_t n = 0; n < kTerms; ++n) totals[n * size + c] += terms[n];
      }
    }
    for (std::size_t i = 0; i < totals.size(); ++i) sums[i] = static_cast<float>(totals[i]);
  });
}

/// value(i, channel) for every element i of a tensor of `shape`.
template <class Value>
Tensor map_channels(const Shape& shape, Value value) {
  Tensor result(shape);
  const Index channels = shape[shape.rank() - 1];
  const auto size = static_cast<std::size_t>(channels);
  float* out = result.data();
  parallel_for(static_cast<std::size_t>(shape.without_dim(-1).size()),
               row_grain(Work::map_floats, channels), [&](std::size_t begin, std::size_t end) {
                 for (std::size_t row = begin; row < end; ++row) {
                   for (std::size_t c = 0; c < size; ++c) {
                     const std::size_t i = row * size + c;
                     out[i] = value(i, c);
                   }
                 }
               });
  return result;
}

}  // namespace octet::detail
