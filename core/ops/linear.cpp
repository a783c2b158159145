#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/kernels/gemm.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/core/ops/linear.h>
#include <octet/core/ops/matmul.h>
#include <octet/core/ops/reduce.h>
#include <octet/core/parallel.h>
#include <octet/core/profile.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/tensor_internal.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace octet {

using detail::TensorAccess;

namespace {

/// Rows whose sums are added up together: a part of the definition of a bias's gradient, so that
/// its bits do not depend on the number of threads.
constexpr Index kRowsPerSum = 32;
/// A block of a kernel's gradient stays in the second-level cache with what an optimizer reads
/// beside it; fewer rows would be a poor block of a product.
constexpr std::size_t kGradientBlock = 1U << 13;
constexpr std::size_t kLeastGradientRows = 56;

void check_unit_bias(const Tensor& bias, const Shape& result) {
  if (bias.shape() == Shape{result[1]}) return;
  throw InvalidArgument(fmt::format("linear: expected a bias of shape {}, one per unit, found {}",
                                    Shape{result[1]}.to_string(), bias.shape().to_string()));
}

/// clamp(x kernel + bias); without a bias or a clamp, without that part.
Tensor affine(const Tensor& x, const Tensor& kernel, const Tensor& bias, bool clamps,
              const RealLimits& limits) {
  const Index units = kernel.dim(1);
  Tensor y(Shape{x.dim(0), units});
  const bool finishes = bias.defined() || clamps;
  const Tensor added = bias.defined() || !finishes ? bias : Tensor::zeros({units});
  const float* offsets = finishes ? added.data() : nullptr;
  float* values = y.mutable_data();
  const auto finish = [&](const GemmBlock& block) {
    if (!finishes) return;
    for (Index i = block.i0; i < block.i1; ++i) {
      kernels().passes.add_bias(values + i * units + block.j0,
                                static_cast<std::size_t>(block.j1 - block.j0), offsets + block.j0,
                                limits.lo, limits.hi);
    }
  };
  gemm_f32(x.dim(0), units, x.dim(1), {x.data(), x.dim(1)}, {kernel.data(), units}, values, units,
           false, finish);
  return y;
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& kernel, const Tensor& bias,
              FusedActivation activation) {
  if (x.rank() > 2 && kernel.rank() == 2 && x.dim(-1) == kernel.dim(0)) {
    const Shape leading = x.shape().without_dim(-1);
    const Tensor rows = x.reshape({leading.size(), kernel.dim(0)});
    return linear(rows, kernel, bias, activation).reshape(x.shape().with_dim(-1, kernel.dim(1)));
  }
  check_matmul(x, kernel);
  if (bias.defined()) check_unit_bias(bias, {x.dim(0), kernel.dim(1)});
  const RealLimits limits = real_limits(activation);
  const bool clamps = activation != FusedActivation::none;
  Tensor y = affine(x, kernel, bias, clamps, limits);
  const auto backward = [x, kernel, bias, clamps, limits,
                         result = clamps ? y.detach() : Tensor()](const Tensor& g) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const GradientWindow window{-kInfinity, kInfinity, limits.lo, limits.hi};
    const SumsGradient passed = clamps ? window_gradient(result, g, window, writable_gradient(g))
                                       : SumsGradient{g, bias.defined() ? sum(g, {0}) : Tensor()};
    std::vector<Tensor> gradients(3);
    if (x.requires_grad()) {
      gradients[0] = matmul(passed.sums, kernel, Transpose::no, Transpose::yes);
    }
    if (kernel.requires_grad()) gradients[1] = kernel_gradient(x, passed.sums);
    if (bias.requires_grad()) gradients[2] = passed.bias;
    return gradients;
  };
  return record("linear", y, {x, kernel, bias}, backward,
                clamps ? BackwardReads::inputs_and_result : BackwardReads::inputs);
}

Tensor writable_gradient(const Tensor& g) {
  return TensorAccess::is_only_handle(g) ? g : Tensor(g.shape());
}

namespace {

/// Tells the scratch memory of sums_of_columns() apart.
struct PartTotals;

/// The sums of the columns of a matrix [rows, units]: add(begin, end, totals) adds the rows of a
/// part to its totals. Whole rows: two threads that halve each row take as long as one.
Tensor sums_of_columns(Index rows, Index units,
                       FunctionRef<void(Index begin, Index end, double* totals)> add) {
  const Index parts = divided_up(rows, kRowsPerSum);
  const auto width = static_cast<std::size_t>(units);
  const auto size = static_cast<std::size_t>(std::max<Index>(parts, 1)) * width;
  const ScratchBuffer<double, PartTotals> totals(size);
  std::fill_n(totals.data(), size, 0.0);
  const std::size_t least = parallel_grain(Work::write_floats, width * kRowsPerSum);
  const auto count = static_cast<std::size_t>(parts);
  parallel_for(count, thread_share(count, least), [&](std::size_t begin, std::size_t end) {
    for (auto part = static_cast<Index>(begin); part < static_cast<Index>(end); ++part) {
      const Index row = part * kRowsPerSum;
      add(row, std::min(rows, row + kRowsPerSum), totals.data() + part * units);
    }
  });
  double* const total = totals.data();
  for (Index part = 1; part < parts; ++part) {
    const double* more = total + part * units;
    for (std::size_t j = 0; j < width; ++j) total[j] += more[j];
  }
  Tensor result({units});
  float* const sums = result.mutable_data();
  for (std::size_t j = 0; j < width; ++j) sums[j] = static_cast<float>(total[j]);
  return result;
}

}  // namespace

SumsGradient window_gradient(const Tensor& y, const Tensor& g, const GradientWindow& window,
                             const Tensor& to) {
  const ProfilePart profiled("clamp gradient");
  const Index units = y.dim(1);
  Tensor sums = to;
  // What is computed on demand is computed row by row, and read in the cache.
  const detail::LazyData* lazy = TensorAccess::pending(y);
  const auto part_size = static_cast<std::size_t>(kRowsPerSum * units);
  if (lazy != nullptr && (lazy->grain == 0 || part_size % lazy->grain != 0)) lazy = nullptr;
  const float* from = lazy == nullptr ? y.data() : nullptr;
  const float* gradient = g.data();
  float* passed = sums.mutable_data();
  const auto add = [&](Index begin, Index end, double* totals) {
    const Index at = begin * units;
    const auto first = static_cast<std::size_t>(at);
    const auto last = static_cast<std::size_t>(end * units);
    const ScratchBuffer<float, SumsGradient> values(lazy == nullptr ? 0 : part_size);
    if (lazy != nullptr) lazy->compute(first, last, values.data(), {});
    kernels().passes.window_gradient_sums(lazy == nullptr ? from + at : values.data(),
                                          gradient + at, static_cast<std::size_t>(end - begin),
                                          static_cast<std::size_t>(units), window, passed + at,
                                          totals);
  };
  Tensor bias = sums_of_columns(y.dim(0), units, add);
  return {std::move(sums), std::move(bias)};
}

Tensor column_sums(const Tensor& g) {
  const Index units = g.dim(1);
  const float* const from = g.data();
  return sums_of_columns(g.dim(0), units, [&](Index begin, Index end, double* totals) {
    add_columns(from + begin * units, end - begin, {totals, static_cast<std::size_t>(units)});
  });
}

Tensor kernel_gradient(const Tensor& x, const Tensor& g,
                       std::function<void(Index begin, Index end, float* rows)> finish) {
  const Index inputs = x.dim(1);
  const Index units = g.dim(1);
  const auto row = static_cast<std::size_t>(std::max<Index>(units, 1));
  const auto compute = [x, packed = PackedF32({g.data(), units}, g.dim(0), units), inputs, units,
                        row, finish = std::move(finish)](std::size_t begin, std::size_t end,
                                                         float* out, MemoryParts prefetch) {
    const auto first = static_cast<Index>(begin / row);
    const auto last = static_cast<Index>(end / row);
    const detail::StoredIntegers integers = TensorAccess::integers(x);
    if (const auto* int8 = integers.as<std::int8_t>()) {
      const auto params = x.quantization();
      const CodeOperand operand{int8 + first, inputs, params->scale(), params->zero_point()};
      packed.multiply_rows(last - first, operand, out, units, prefetch);
    } else {
      const GemmOperand reals{x.data() + first, inputs, Transpose::yes};
      packed.multiply_rows(last - first, reals, out, units, prefetch);
    }
    if (finish) finish(first, last, out);
  };
  // A program may fill x with the next batch before anyone has asked for the gradient.
  return TensorAccess::lazy({inputs, units},
                            {std::max(kLeastGradientRows, kGradientBlock / row) * row, compute}, x);
}

}  // namespace octet
