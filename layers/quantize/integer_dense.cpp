#include <octet/core/autograd.h>
#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/ops/matmul.h>
#include <octet/core/ops/reduce.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/quantize.h>
#include <octet/core/quant/requantize.h>
#include <octet/core/quant/round.h>
#include <octet/layers/quantize/integer_ops.h>

#include <cstddef>
#include <limits>

namespace octet {
namespace {

constexpr std::size_t kRowsPerChunk = 32;

std::vector<std::int8_t> codes_on(const Tensor& x, const QuantParams& grid) {
  std::vector<std::int8_t> codes(static_cast<std::size_t>(x.size()));
  parallel_for(codes.size(), 1U << 14, [&](std::size_t begin, std::size_t end) {
    quantize(x.span().subspan(begin, end - begin), grid,
             std::span(codes).subspan(begin, end - begin));
  });
  return codes;
}

/// What a real clamp of the activation makes of a sum, and where its gradient passes.
struct RealClamp {
  float lo;
  float hi;

  static RealClamp of(FusedActivation activation) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    switch (activation) {
      case FusedActivation::relu:
        return {0.0F, infinity};
      case FusedActivation::relu6:
        return {0.0F, 6.0F};
      case FusedActivation::relu_n1_to_1:
        return {-1.0F, 1.0F};
      case FusedActivation::none:
        break;
    }
    return {-infinity, infinity};
  }
};

}  // namespace

/// What the backward pass needs beyond the sums.
struct IntegerDense::Operands {
  Tensor x;
  Tensor kernel;
  Tensor bias;
  DenseCodes codes;
  float input_scale;
  std::string owner;

  float weight_scale(std::size_t unit) const {
    return codes.weight_params.scale(codes.weight_params.per_channel() ? unit : 0);
  }
  std::size_t units() const { return static_cast<std::size_t>(kernel.dim(1)); }

  /// The weights that the sums were made with, as reals [units, inputs].
  Tensor real_weights() const {
    Tensor result({kernel.dim(1), kernel.dim(0)});
    dequantize(codes.weights, result.shape().dims(), codes.weight_params, result.span());
    return result;
  }

  /// Gradients that reach the kernel where it lies within its own range.
  void mask_kernel_gradient(Tensor& gradient) const {
    const auto lowest = static_cast<float>(codes.weight_params.qmin);
    const auto highest = static_cast<float>(codes.weight_params.qmax);
    for (std::size_t j = 0; j < units(); ++j) {
      const float scale = weight_scale(j);
      for (std::size_t i = j; i < kernel.span().size(); i += units()) {
        if (!in_range(kernel.data()[i], lowest * scale, highest * scale)) {
          gradient.data()[i] = 0.0F;
        }
      }
    }
  }
};

IntegerDense::IntegerDense(const Dense& dense, const Tensor& x, const QuantParams& kernel_params,
                           Rounding rounding, const std::string& owner)
    : rounding_(rounding), activation_(fused_activation(dense.activation())) {
  const QuantParams& grid = require_grid(x, owner);
  auto operands = std::make_shared<Operands>(
      Operands{x, dense.kernel(), dense.bias(),
               make_dense_codes(dense, kernel_params, grid.scale(), owner), grid.scale(), owner});
  // Every sum below fits int32 because this one does.
  accumulator_bound(operands->codes, grid, owner);
  const Index rows = x.dim(0);
  const Index inputs = dense.kernel().dim(0);
  const Index units = dense.units();
  const PackedS8 weights(operands->codes.weights.data(), units, inputs);
  sums_.resize(static_cast<std::size_t>(rows * units));
  gemm_s8(rows, codes_on(x, grid).data(), inputs, weights, sums_.data());

  // What each sum starts from, and what it is worth.
  std::vector<std::int32_t> start(operands->units());
  std::vector<float> worth(operands->units());
  for (std::size_t j = 0; j < start.size(); ++j) {
    const std::int32_t bias = operands->codes.bias.empty() ? 0 : operands->codes.bias[j];
    start[j] = bias - grid.zero_point() * weights.row_sums()[j];
    worth[j] = grid.scale() * operands->weight_scale(j);
  }
  const RealClamp clamp = RealClamp::of(activation_);
  real_ = Tensor({rows, units});
  parallel_for(static_cast<std::size_t>(rows), kRowsPerChunk,
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   std::int32_t* sum = sums_.data() + i * start.size();
                   float* real = real_.data() + i * start.size();
                   for (std::size_t j = 0; j < start.size(); ++j) {
                     sum[j] += start[j];
                     const float value = static_cast<float>(sum[j]) * worth[j];
                     const float raised = value < clamp.lo ? clamp.lo : value;
                     real[j] = raised > clamp.hi ? clamp.hi : raised;
                   }
                 }
               });
  operands_ = std::move(operands);
}

Tensor IntegerDense::output(const QuantParams& output) const {
  require_int8(output, operands_->owner);
  const auto requantizer = Requantizer::fully_connected(
      operands_->input_scale, operands_->codes.weight_params.scales, output.scale(), rounding_);
  const ActivationRange limits =
      activation_range(activation_, output.scale(), output.zero_point(), output.qmin, output.qmax);
  Tensor y(real_.shape());
  const std::size_t units = operands_->units();
  parallel_for(static_cast<std::size_t>(real_.dim(0)), kRowsPerChunk,
               [&](std::size_t begin, std::size_t end) {
                 std::vector<std::int8_t> codes((end - begin) * units);
                 requantizer.requantize(std::span(sums_).subspan(begin * units, codes.size()),
                                        codes, output.zero_point(), limits.lo, limits.hi);
                 dequantize(codes, output, y.span().subspan(begin * units, codes.size()));
               });
  y.set_grid(std::make_shared<const QuantParams>(output));

  const RealClamp activation = RealClamp::of(activation_);
  const float lo = static_cast<float>(output.qmin - output.zero_point()) * output.scale();
  const float hi = static_cast<float>(output.qmax - output.zero_point()) * output.scale();
  const auto backward = [operands = operands_, real = real_, activation, lo, hi](const Tensor& g) {
    Tensor d_sum(real.shape());
    for (Index i = 0; i < real.size(); ++i) {
      const float value = real.data()[i];
      const bool passes =
          in_range(value, lo, hi) & (value > activation.lo) & (value < activation.hi);
      d_sum.data()[i] = passes ? g.data()[i] : 0.0F;
    }
    std::vector<Tensor> gradients(3);
    if (operands->x.requires_grad()) gradients[0] = matmul(d_sum, operands->real_weights());
    gradients[1] = matmul(operands->x, d_sum, Transpose::yes);
    operands->mask_kernel_gradient(gradients[1]);
    if (operands->bias.defined()) gradients[2] = sum(d_sum, {0});
    return gradients;
  };
  return record("integer_dense", y, {operands_->x, operands_->kernel, operands_->bias}, backward);
}

}  // namespace octet
