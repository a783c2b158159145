#include <fmt/core.h>
#include <octet/core/arithmetic/comparisons.h>
#include <octet/core/arithmetic/sigmoid.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/kernels/softmax_row.h>
#include <octet/core/ops/activation.h>
#include <octet/core/ops/map.h>
#include <octet/core/ops/map_function.h>
#include <octet/core/quant/quantize.h>
#include <octet/core/tensor_internal.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

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
  return activate(
      "relu", Work::map_floats, x, [](float v) { return detail::relu(v); },
      [](float g, float y) { return y <= 0.0F ? 0.0F : g; });
}

Tensor relu6(const Tensor& x) {
  return activate(
      "relu6", Work::map_floats, x, [](float v) { return detail::clamped(v, 0.0F, 6.0F); },
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

namespace {

constexpr std::size_t kCodes = 256;

/// e^(beta (x - m)) for all pairs of real values of int8 with m among `largest`, [m, x].
std::vector<float> exps_of_codes(const QuantParams& params, float beta,
                                 const std::array<bool, kCodes>& largest) {
  const std::array<float, kCodes> real = detail::reals_of_codes(params);
  std::vector<float> exps(kCodes * kCodes);
  for (std::size_t m = 0; m < kCodes; ++m) {
    for (std::size_t i = 0; largest[m] && i <= m; ++i) {
      exps[m * kCodes + i] = std::exp(beta * (real[i] - real[m]));
    }
  }
  return exps;
}

/// detail::softmax_row() of `Rows` rows of quantized values side by side, whose sums wait for each
/// other less than one would for itself.
template <std::size_t Rows>
void softmax_of_codes(const std::int8_t* x, std::size_t columns, const std::uint8_t* largest,
                      const float* exps, float* y) {
  std::array<double, Rows> sums{};
  for (std::size_t j = 0; j < columns; ++j) {
    for (std::size_t r = 0; r < Rows; ++r) {
      const auto code = static_cast<std::size_t>(x[r * columns + j] + 128);
      const float e = exps[largest[r] * kCodes + code];
      y[r * columns + j] = e;
      sums[r] += static_cast<double>(e);
    }
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    const auto scale = static_cast<float>(1.0 / sums[r]);
    for (std::size_t j = 0; j < columns; ++j) y[r * columns + j] *= scale;
  }
}

/// The softmax of int8 of one scale: exponentials are looked up, the same bits.
Tensor softmax_of_codes(const Tensor& x, float beta, const std::int8_t* codes) {
  constexpr std::size_t kTogether = 4;
  Tensor y(x.shape());
  float* const out = y.mutable_data();
  const auto columns = static_cast<std::size_t>(x.dim(-1));
  const std::size_t rows = static_cast<std::size_t>(x.size()) / columns;
  std::vector<std::uint8_t> largest(rows);
  std::array<bool, kCodes> seen{};
  for (std::size_t i = 0; i < rows; ++i) {
    const std::int8_t most = *std::max_element(codes + i * columns, codes + (i + 1) * columns);
    largest[i] = static_cast<std::uint8_t>(most + 128);
    seen[largest[i]] = true;
  }
  const std::vector<float> exps = exps_of_codes(*x.quantization(), beta, seen);
  parallel_for(rows, detail::row_grain(Work::map_floats, x.dim(-1)),
               [&](std::size_t begin, std::size_t end) {
                 std::size_t i = begin;
                 for (; i + kTogether <= end; i += kTogether) {
                   softmax_of_codes<kTogether>(codes + i * columns, columns, largest.data() + i,
                                               exps.data(), out + i * columns);
                 }
                 for (; i < end; ++i) {
                   softmax_of_codes<1>(codes + i * columns, columns, largest.data() + i,
                                       exps.data(), out + i * columns);
                 }
               });
  return y;
}

Tensor softmax_values(const Tensor& x, float beta) {
  const detail::StoredIntegers stored = detail::TensorAccess::integers(x);
  const auto* const codes = stored.as<std::int8_t>();
  const auto& params = x.quantization();
  // A table for all pairs pays where there are more values.
  if (codes != nullptr && params != nullptr && !params->per_channel() &&
      static_cast<std::size_t>(x.size()) > kCodes * kCodes) {
    return softmax_of_codes(x, beta, codes);
  }
  Tensor y(x.shape());
  for_each_row(x, [&](Index offset, Index columns) {
    detail::softmax_row(x.data() + offset, columns, y.mutable_data() + offset, beta);
  });
  return y;
}

}  // namespace

Tensor softmax(const Tensor& x, float beta) {
  check_rows("softmax", x);
  const Tensor y = softmax_values(x, beta);
  const auto backward = [y = y.detach(), beta](const Tensor& g) {
    Tensor grad(y.shape());
    for_each_row(y, [&](Index offset, Index columns) {
      const float* p = y.data() + offset;
      const float* upstream = g.data() + offset;
      double dot = 0.0;
      for (Index j = 0; j < columns; ++j) dot += static_cast<double>(p[j]) * upstream[j];
      float* out = grad.mutable_data() + offset;
      for (Index j = 0; j < columns; ++j) {
        out[j] = beta * p[j] * (upstream[j] - static_cast<float>(dot));
      }
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
