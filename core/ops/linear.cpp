#include <fmt/format.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/kernels/gemm.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/linear.h>
#include <octet/core/ops/matmul.h>
#include <octet/core/ops/reduce.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/quant_params.h>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace octet {
namespace {

constexpr std::size_t kGrain = 1U << 15;
/// A block of a kernel's gradient stays in the second-level cache with what an optimizer reads
/// beside it; fewer rows would be a poor block of a product.
constexpr std::size_t kGradientBlock = 1U << 13;
constexpr std::size_t kLeastGradientRows = 56;

void check_bias(const Tensor& bias, const Shape& result) {
  if (bias.shape() == Shape{result[1]}) return;
  throw InvalidArgument(fmt::format("linear: expected a bias of shape {}, one per unit, found {}",
                                    Shape{result[1]}.to_string(), bias.shape().to_string()));
}

/// y = clamp(y + bias) in place, row by row.
void finish_rows(Tensor& y, const Tensor& bias, const RealLimits& limits) {
  const auto units = static_cast<std::size_t>(y.dim(1));
  const Tensor added = bias.defined() ? bias : Tensor::zeros({y.dim(1)});
  float* rows = y.data();
  parallel_for(static_cast<std::size_t>(y.dim(0)), kGrain / (units + 1) + 1,
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   kernels().passes.add_bias(rows + i * units, units, added.data(), limits.lo,
                                             limits.hi);
                 }
               });
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& kernel, const Tensor& bias,
              FusedActivation activation) {
  Tensor y = no_grad([&] { return matmul(x, kernel); });
  if (bias.defined()) check_bias(bias, y.shape());
  const RealLimits limits = real_limits(activation);
  const bool clamps = activation != FusedActivation::none;
  if (bias.defined() || clamps) finish_rows(y, bias, limits);
  const auto backward = [x, kernel, bias, clamps, limits,
                         result = clamps ? y.detach() : Tensor()](const Tensor& g) {
    Tensor passed = g;
    if (clamps) {
      constexpr float kInfinity = std::numeric_limits<float>::infinity();
      passed = inside_window(result, g, {-kInfinity, kInfinity, limits.lo, limits.hi});
    }
    std::vector<Tensor> gradients(3);
    if (x.requires_grad()) gradients[0] = matmul(passed, kernel, Transpose::no, Transpose::yes);
    if (kernel.requires_grad()) gradients[1] = kernel_gradient(x, passed);
    if (bias.requires_grad()) gradients[2] = sum(passed, {0});
    return gradients;
  };
  return record("linear", y, {x, kernel, bias}, backward);
}

Tensor kernel_gradient(const Tensor& x, const Tensor& g,
                       std::function<void(Index begin, Index end, float* rows)> finish) {
  const Index inputs = x.dim(1);
  const Index units = g.dim(1);
  const auto row = static_cast<std::size_t>(std::max<Index>(units, 1));
  const auto compute = [x, packed = PackedF32({g.data(), units}, g.dim(0), units), inputs, units,
                        row, finish = std::move(finish)](std::size_t begin, std::size_t end,
                                                         float* out) {
    const auto first = static_cast<Index>(begin / row);
    const auto last = static_cast<Index>(end / row);
    if (x.codes() != nullptr) {
      const CodeOperand codes{x.codes() + first, inputs, x.grid()->scale(), x.grid()->zero_point()};
      packed.multiply_rows(last - first, codes, out, units);
    } else {
      const GemmOperand reals{x.data() + first, inputs, Transpose::yes};
      packed.multiply_rows(last - first, reals, out, units);
    }
    if (finish) finish(first, last, out);
  };
  return Tensor::lazy({inputs, units},
                      {std::max(kLeastGradientRows, kGradientBlock / row) * row, compute});
}

}  // namespace octet
