#include <octet/core/ops/partial_sums.h>
#include <octet/core/parallel.h>

#include <algorithm>

namespace octet {
namespace {

// Constants of the definition of a sum: changing one changes bits.

constexpr Index kMostParts = 16;
constexpr Index kLeastRows = 256;
/// An upper bound of the floats that all partial sums take.
constexpr Index kMostFloats = Index{1} << 20;

}  // namespace

Index count_parts(Index rows, Index size) {
  if (size > kMostFloats / kMostParts) return 1;
  return std::clamp<Index>(rows / kLeastRows, 1, kMostParts);
}

void for_each_part(Index rows, Index parts,
                   FunctionRef<void(Index part, Index begin, Index end)> compute, Index unit) {
  const Index step = rows / unit >= parts ? unit : 1;
  const Index count = rows / step;
  parallel_tasks(static_cast<std::size_t>(parts), [&](std::size_t task) {
    const auto part = static_cast<Index>(task);
    compute(part, count * part / parts * step, count * (part + 1) / parts * step);
  });
}

Tensor sum_of_parts(const Shape& shape, Index rows,
                    FunctionRef<void(Index begin, Index end, float* sums)> compute, Index unit) {
  const auto compute_one = [&](Index begin, Index end, std::span<float* const> sums) {
    compute(begin, end, sums.front());
  };
  return sums_of_parts({shape}, rows, compute_one, unit).front();
}

std::vector<Tensor> sums_of_parts(
    const std::vector<Shape>& shapes, Index rows,
    FunctionRef<void(Index begin, Index end, std::span<float* const> sums)> compute, Index unit) {
  std::vector<Tensor> totals;
  for (const Shape& shape : shapes) {
    totals.push_back(rows == 0 ? Tensor::zeros(shape) : Tensor(shape));
  }
  if (rows == 0) return totals;
  const Index parts = count_parts(rows, totals.front().size());
  // The first part is computed in place.
  std::vector<Tensor> others;
  std::vector<float*> first;
  std::vector<float*> rest;
  for (Tensor& total : totals) {
    first.push_back(total.mutable_data());
    rest.push_back(others.emplace_back(Tensor({parts - 1, total.size()})).mutable_data());
  }
  const auto compute_part = [&](Index part, Index begin, Index end) {
    std::vector<float*> sums = first;
    for (std::size_t i = 0; part > 0 && i < sums.size(); ++i) {
      sums[i] = rest[i] + (part - 1) * totals[i].size();
    }
    compute(begin, end, sums);
  };
  for_each_part(rows, parts, compute_part, unit);
  for (std::size_t i = 0; i < totals.size(); ++i) {
    const Index size = totals[i].size();
    const float* more = rest[i];
    for (Index part = 1; part < parts; ++part, more += size) {
      for (Index j = 0; j < size; ++j) first[i][j] += more[j];
    }
  }
  return totals;
}

}  // namespace octet
