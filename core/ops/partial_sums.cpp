#include <octet/core/ops/partial_sums.h>
#include <octet/core/parallel.h>

#include <algorithm>

namespace octet {
namespace {

// Constants of the definition of a sum: changing one changes bits.

constexpr Index kMostParts = 16;
constexpr Index kLeastRows = 256;
/// Of all partial sums.
constexpr Index kMostFloats = Index{1} << 20;

}  // namespace

Index count_parts(Index rows, Index size) {
  if (size > kMostFloats / kMostParts) return 1;
  return std::clamp<Index>(rows / kLeastRows, 1, kMostParts);
}

void for_each_part(Index rows, Index parts,
                   FunctionRef<void(Index part, Index begin, Index end)> compute) {
  parallel_tasks(static_cast<std::size_t>(parts), [&](std::size_t task) {
    const auto part = static_cast<Index>(task);
    compute(part, rows * part / parts, rows * (part + 1) / parts);
  });
}

Tensor sum_of_parts(const Shape& shape, Index rows,
                    FunctionRef<void(Index begin, Index end, float* sums)> compute) {
  if (rows == 0) return Tensor::zeros(shape);
  Tensor total(shape);
  const Index size = total.size();
  const Index parts = count_parts(rows, size);
  // The first part is computed in place.
  Tensor others({parts - 1, size});
  float* first = total.data();
  float* rest = others.data();
  for_each_part(rows, parts, [&](Index part, Index begin, Index end) {
    compute(begin, end, part == 0 ? first : rest + (part - 1) * size);
  });
  for (Index part = 1; part < parts; ++part) {
    const float* more = rest + (part - 1) * size;
    for (Index i = 0; i < size; ++i) first[i] += more[i];
  }
  return total;
}

}  // namespace octet
