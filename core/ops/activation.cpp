#include <fmt/core.h>
#include <octet/core/arithmetic/sigmoid.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/kernels/softmax_row.h>
#include <octet/core/ops/activation.h>
#include <octet/core/ops/map.h>
#include <octet/core/ops/map_function.h>

#include <cmath>

namespace octet {
namespace {

using detail::map;

/// Records y = f(x), with df(g, y) an element's gradient from the result alone.
template <class F, class Df>
Tensor activate(std::string_view operation, Work work, const Tensor& x, F f, Df df) {
  const Tensor y = detail::map_unary(work, f, x);
  const auto backward = [y = y.detach(), df](const Tensor& g) {
    return std::vector<Tensor>{map(Work::map_floats, df, g, y)};
  };
  return record(operation, y, {x}, backward, BackwardReads::result);
}

/// Calls body(row, columns) with the offset of each row of the last axis.
template <class Body>
void for_each_row(const Tensor& x, Body body) {
  const Index columns = x.dim(-1);
  const Index rows = columns == 0 ? 0 : x.size() / columns;
  parallel_for(static_cast<std::size_t>(rows), detail::row_grain(Work::transcendental, columns),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t row = begin; row < end; ++row) {
                   body(static_cast<Index>(row) * columns, columns);
                 }
               });
}

void check_rows(std::string_view operation, const Tensor& x) {
  if (x.rank() == 0) {
    throw InvalidArgument(fmt::format("{}: expected rank 1 or more, found a scalar", operation));
  }
}

}  // namespace

Tensor relu(const Tensor& x) {
  // Not max(x, 0): a NaN fails the comparison and stays.
  return activate(
      "relu", Work::map_floats, x, [](float v) { return v <= 0.0F ? 0.0F : v; },
      [](float g, float y) { return y <= 0.0F ? 0.0F : g; });
}

Tensor relu6(const Tensor& x) {
  return activate(
      "relu6", Work::map_floats, x,
      [](float v) { return v <= 0.0F ? 0.0F : (v >= 6.0F ? 6.0F : v); },
      [](float g, float y) { return y <= 0.0F || y >= 6.0F ? 0.0F : g; });
}

Tensor sigmoid(const Tensor& x) {
  return activate(
      "sigmoid", Work::transcendental, x, [](float v) { return detail::sigmoid(v); },
      [](float g, float y) { return g * y * (1.0F - y); });
}

Tensor tanh(const Tensor& x) {
  return activate(
      "tanh", Work::transcendental, x, [](float v) { return std::tanh(v); },
      [](float g, float y) { return g * (1.0F - y * y); });
}

Tensor softmax(const Tensor& x) {
  check_rows("softmax", x);
  Tensor y(x.shape());
  for_each_row(x, [&](Index offset, Index columns) {
    detail::softmax_row(x.data() + offset, columns, y.mutable_data() + offset);
  });
  const auto backward = [y = y.detach()](const Tensor& g) {
    Tensor grad(y.shape());
    for_each_row(y, [&](Index offset, Index columns) {
      const float* p = y.data() + offset;
      const float* upstream = g.data() + offset;
      double dot = 0.0;
      for (Index j = 0; j < columns; ++j) dot += static_cast<double>(p[j]) * upstream[j];
      float* out = grad.mutable_data() + offset;
      for (Index j = 0; j < columns; ++j) out[j] = p[j] * (upstream[j] - static_cast<float>(dot));
    });
    return std::vector<Tensor>{grad};
  };
  return record("softmax", y, {x}, backward, BackwardReads::result);
}

Tensor log_softmax(const Tensor& x) {
  check_rows("log_softmax", x);
  Tensor y(x.shape());
  for_each_row(x, [&](Index offset, Index columns) {
    const float* in = x.data() + offset;
    const detail::RowNorm norm = detail::row_norm(in, columns);
    float* out = y.mutable_data() + offset;
    for (Index j = 0; j < columns; ++j) out[j] = static_cast<float>(norm.log_softmax(in[j]));
  });
  const auto backward = [y = y.detach()](const Tensor& g) {
    Tensor grad(y.shape());
    for_each_row(y, [&](Index offset, Index columns) {
      const float* upstream = g.data() + offset;
      double total = 0.0;
      for (Index j = 0; j < columns; ++j) total += static_cast<double>(upstream[j]);
      const float* in = y.data() + offset;
      float* out = grad.mutable_data() + offset;
      for (Index j = 0; j < columns; ++j) {
        out[j] = upstream[j] - std::exp(in[j]) * static_cast<float>(total);
      }
    });
    return std::vector<Tensor>{grad};
  };
  return record("log_softmax", y, {x}, backward, BackwardReads::result);
}

}  // namespace octet
