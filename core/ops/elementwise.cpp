#include <fmt/core.h>
#include <octet/core/arithmetic/comparisons.h>
#include <octet/core/arithmetic/real_functions.h>
#include <octet/core/autograd.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/core/ops/map.h>
#include <octet/core/ops/map_function.h>
#include <octet/core/ops/reduction.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace octet {
namespace {

using detail::broadcast_map;
using detail::map;
using detail::sum_to_shape;

/// f(a, b), whose operands broadcast to `shape`.
template <class F>
Tensor elements(const Shape& shape, F f, const Tensor& a, const Tensor& b) {
  return a.shape() == shape && b.shape() == shape ? detail::map_where_read(f, a, b)
                                                  : broadcast_map(shape, f, a, b);
}

/// Records y = f(a, b). da(g, a, b) and db(g, a, b) are an element's share of the gradient; where
/// an operand was repeated, its shares are added up.
template <class F, class Da, class Db>
Tensor binary(std::string_view operation, const Tensor& a, const Tensor& b, F f, Da da, Db db) {
  const Shape shape = broadcast_shapes(operation, a.shape(), b.shape());
  const Tensor result = elements(shape, f, a, b);
  return record(operation, result, {a, b}, [a, b, da, db](const Tensor& g) {
    std::vector<Tensor> grads(2);
    if (a.requires_grad()) {
      grads[0] = sum_to_shape(broadcast_map(g.shape(), da, g, a, b), a.shape());
    }
    if (b.requires_grad()) {
      grads[1] = sum_to_shape(broadcast_map(g.shape(), db, g, a, b), b.shape());
    }
    return grads;
  });
}

/// Records y = f(x), with df(g, x, y) an element's gradient.
template <class F, class Df>
Tensor unary(std::string_view operation, Work work, const Tensor& x, F f, Df df,
             BackwardReads reads) {
  const Tensor y = detail::map_unary(work, f, x);
  const auto backward = [x, y = y.detach(), df](const Tensor& g) {
    return std::vector<Tensor>{map(Work::map_floats, df, g, x, y)};
  };
  return record(operation, y, {x}, backward, reads);
}

/// The gradient of the side that `wins`: all of g where it does, half where the two are equal.
/// Where one is NaN, neither comparison holds and both sides get all of g.
float share(float g, bool loses, bool ties) { return loses ? 0.0F : (ties ? 0.5F * g : g); }

/// About so many elements are computed at once in inside_window(): they stay in the first-level
/// cache.
constexpr Index kWindowPart = 1024;

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  const Shape shape = broadcast_shapes("add", a.shape(), b.shape());
  const Tensor y = elements(
      shape, [](float p, float q) { return p + q; }, a, b);
  const auto backward = [a, b](const Tensor& g) {
    std::vector<Tensor> grads(2);
    if (a.requires_grad()) grads[0] = sum_to_shape(g, a.shape());
    if (b.requires_grad()) grads[1] = sum_to_shape(g, b.shape());
    return grads;
  };
  return record("add", y, {a, b}, backward, BackwardReads::nothing);
}

Tensor add(const Tensor& a, const Tensor& b, FusedActivation activation) {
  if (activation == FusedActivation::none) return add(a, b);
  const auto [lo, hi] = real_limits(activation);
  const auto clamped_sum = [lo = lo, hi = hi](float p, float q) {
    return detail::clamped(p + q, lo, hi);
  };
  const Tensor y = detail::map_where_read(clamped_sum, a, b);
  const GradientWindow window{-std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::infinity(), lo, hi};
  const auto backward = [y = y.detach(), window](const Tensor& g) {
    const Tensor passed = inside_window(y, g, window);
    return std::vector<Tensor>{passed, passed};
  };
  return record("add", y, {a, b}, backward, BackwardReads::result);
}

Tensor sub(const Tensor& a, const Tensor& b) {
  const Shape shape = broadcast_shapes("sub", a.shape(), b.shape());
  const Tensor y = elements(
      shape, [](float p, float q) { return p - q; }, a, b);
  const auto backward = [a, b](const Tensor& g) {
    std::vector<Tensor> grads(2);
    if (a.requires_grad()) grads[0] = sum_to_shape(g, a.shape());
    if (b.requires_grad()) grads[1] = neg(sum_to_shape(g, b.shape()));
    return grads;
  };
  return record("sub", y, {a, b}, backward, BackwardReads::nothing);
}

Tensor mul(const Tensor& a, const Tensor& b) {
  return binary(
      "mul", a, b, [](float p, float q) { return p * q; },
      [](float g, float, float q) { return g * q; }, [](float g, float p, float) { return g * p; });
}

Tensor div(const Tensor& a, const Tensor& b) {
  // Two divisions in db, where q * q could overflow.
  return binary(
      "div", a, b, [](float p, float q) { return p / q; },
      [](float g, float, float q) { return g / q; },
      [](float g, float p, float q) { return -(g / q) * (p / q); });
}

Tensor maximum(const Tensor& a, const Tensor& b) {
  return binary(
      "maximum", a, b, [](float p, float q) { return detail::larger(p, q); },
      [](float g, float p, float q) { return share(g, p < q, p == q); },
      [](float g, float p, float q) { return share(g, q < p, p == q); });
}

Tensor minimum(const Tensor& a, const Tensor& b) {
  return binary(
      "minimum", a, b, [](float p, float q) { return detail::smaller(p, q); },
      [](float g, float p, float q) { return share(g, p > q, p == q); },
      [](float g, float p, float q) { return share(g, q > p, p == q); });
}

Tensor prelu(const Tensor& x, const Tensor& alpha) {
  // Sums as of two ops, max(x, 0) and alpha min(x, 0): no gradient is -0.
  return binary(
      "prelu", x, alpha, [](float v, float a) { return detail::prelu(v, a); },
      [](float g, float v, float a) { return (v <= 0.0F ? 0.0F : g) + (v > 0.0F ? 0.0F : g * a); },
      [](float g, float v, float) { return g * detail::negative_part(v); });
}

Tensor neg(const Tensor& x) {
  return unary(
      "neg", Work::map_floats, x, [](float v) { return -v; },
      [](float g, float, float) { return -g; }, BackwardReads::nothing);
}

Tensor exp(const Tensor& x) {
  return unary(
      "exp", Work::transcendental, x, [](float v) { return std::exp(v); },
      [](float g, float, float y) { return g * y; }, BackwardReads::result);
}

Tensor log(const Tensor& x) {
  return unary(
      "log", Work::transcendental, x, [](float v) { return std::log(v); },
      [](float g, float v, float) { return g / v; }, BackwardReads::inputs);
}

Tensor sqrt(const Tensor& x) {
  return unary(
      "sqrt", Work::map_floats, x, [](float v) { return std::sqrt(v); },
      [](float g, float, float y) { return 0.5F * g / y; }, BackwardReads::result);
}

Tensor rsqrt(const Tensor& x) {
  return unary(
      "rsqrt", Work::map_floats, x, [](float v) { return detail::inverse_square_root(v); },
      [](float g, float v, float y) {
        const float root = std::sqrt(v);
        return 0.5F * (-(g / root) * y) / root;
      },
      BackwardReads::inputs_and_result);
}

Tensor square(const Tensor& x) {
  return unary(
      "square", Work::map_floats, x, [](float v) { return v * v; },
      [](float g, float v, float) { return 2.0F * g * v; }, BackwardReads::inputs);
}

Tensor abs(const Tensor& x) {
  return unary(
      "abs", Work::map_floats, x, [](float v) { return std::fabs(v); },
      [](float g, float v, float) { return v > 0.0F ? g : (v < 0.0F ? -g : 0.0F); },
      BackwardReads::inputs);
}

Tensor clamp(const Tensor& x, float lo, float hi) {
  if (!(lo <= hi)) {
    throw InvalidArgument(
        fmt::format("clamp: expected lo <= hi, found lo = {} and hi = {}", lo, hi));
  }
  return unary(
      "clamp", Work::map_floats, x, [lo, hi](float v) { return v < lo ? lo : (v > hi ? hi : v); },
      [lo, hi](float g, float v, float) { return lo <= v && v <= hi ? g : 0.0F; },
      BackwardReads::inputs);
}

bool is_known_inside(const Tensor& x, const GradientWindow& window) {
  if (!detail::TensorAccess::has_limits(x)) return false;
  const MinMax known = detail::TensorAccess::limits(x);
  return known.finite && known.min >= window.lo && known.max <= window.hi &&
         known.min > window.above && known.max < window.below;
}

Tensor inside_window(const Tensor& x, const Tensor& g, const GradientWindow& window,
                     const Tensor& to) {
  Tensor result = to.defined() ? to : Tensor(x.shape());
  // Before a write makes g forget what it is.
  const float* const gradient = g.data();
  float* out = result.mutable_data();
  const Index row = std::max<Index>(x.rank() == 0 ? 1 : x.dim(-1), 1);
  const Index most = divided_up(kWindowPart, row);
  const TensorRows reals(x, row);
  parallel_for(static_cast<std::size_t>(x.size() / row), detail::row_grain(Work::map_floats, row),
               [&](std::size_t begin, std::size_t end) {
                 const auto last = static_cast<Index>(end);
                 const ScratchBuffer<float, GradientWindow> memory(reals.scratch(most));
                 for (auto i = static_cast<Index>(begin); i < last; i += most) {
                   const Index next = std::min(last, i + most);
                   kernels().passes.window_gradient(
                       reals.read(i, next, memory.data()), gradient + i * row,
                       static_cast<std::size_t>((next - i) * row), window, out + i * row);
                 }
               });
  return result;
}

}  // namespace octet
