#include <octet/core/error.h>
#include <octet/layers/initializer.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace octet {
namespace {

/// A vector shorter than this is lost in rounding: drawn ones are about as long as the root of
/// their number of elements.
constexpr double kLeastLength = 1e-6;

/// Takes the parts along the rows above out of a row and makes its length 1. Returns false for one
/// that is (nearly) a sum of the others.
bool orthogonalize(std::vector<std::vector<double>>& rows, std::size_t row) {
  std::vector<double>& v = rows[row];
  const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  // The second time takes out what rounding has left.
  for (int time = 0; time < 2; ++time) {
    for (std::size_t other = 0; other < row; ++other) {
      const double part = dot(v, rows[other]);
      for (std::size_t i = 0; i < v.size(); ++i) v[i] -= part * rows[other][i];
    }
  }
  const double length = std::sqrt(dot(v, v));
  if (length < kLeastLength) return false;
  for (double& value : v) value /= length;
  return true;
}

Tensor orthogonal(const Shape& shape, const Random& random) {
  Tensor result(shape);
  const auto columns = static_cast<std::size_t>(shape.rank() == 0 ? 1 : shape.dim(-1));
  const std::size_t count = result.span().size() / std::max<std::size_t>(columns, 1);
  const bool wide = count <= columns;
  std::vector<std::vector<double>> rows(std::min(count, columns));
  std::uint64_t stream = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    do {
      const Tensor drawn =
          Tensor::normal({static_cast<Index>(std::max(count, columns))}, random.fork(stream++));
      rows[row].assign(drawn.span().begin(), drawn.span().end());
    } while (!orthogonalize(rows, row));
  }
  const std::span<float> out = result.mutable_span();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t row = i / columns;
    const std::size_t column = i % columns;
    out[i] = static_cast<float>(wide ? rows[row][column] : rows[column][row]);
  }
  return result;
}

}  // namespace

Tensor initialize(Initializer initializer, const Shape& shape, Index fan_in, Index fan_out,
                  const Random& random) {
  const auto in = static_cast<float>(fan_in);
  const auto out = static_cast<float>(fan_out);
  const auto symmetric = [&](float limit) { return Tensor::uniform(shape, random, -limit, limit); };
  switch (initializer) {
    case Initializer::glorot_uniform:
      return symmetric(std::sqrt(6.0F / (in + out)));
    case Initializer::he_uniform:
      return symmetric(std::sqrt(6.0F / in));
    case Initializer::he_normal:
      return Tensor::normal(shape, random, 0, std::sqrt(2.0F / in));
    case Initializer::orthogonal:
      return orthogonal(shape, random);
    case Initializer::zeros:
      return Tensor::zeros(shape);
  }
  throw InvalidArgument("initialize: a value outside the enumeration");
}

}  // namespace octet
