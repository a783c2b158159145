#pragma once

#include <octet/core/conv2d_geometry.h>
#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/random.h>
#include <octet/core/tensor.h>
#include <octet/layers/quantize/measured_gradient.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

// The products of the backward pass on int8 with int32 sums: Backward::int8. docs/backward.md has
// the formulas.

namespace octet {

/// The matrix [columns, rows] of a matrix [rows, columns].
std::vector<std::int8_t> transposed_matrix(std::span<const std::int8_t> matrix, Index rows);

/// Changes the rows [begin, end) of a kernel's gradient, of one number per unit.
using FinishRows = std::function<void(Index begin, Index end, float* rows)>;

/// Weights as the gradient of the input reads them: quantized values in the order of the kernel,
/// whose last axis are units, and a scale for all units or for each.
struct QuantizedKernel {
  std::span<const std::int8_t> values;
  std::span<const float> scales;
};

/// How g is rounded: to nearest, ties away from 0; or, where there are random numbers, up with the
/// probability of its fraction, number i of g by the i-th of them.
using GradientRounding = std::optional<Random>;

/// Computes the gradient [rows, inputs] of the input of a product from that of its sums [rows,
/// units]; `weights` are its packed weights [units, inputs], with one scale or one for each unit.
/// All values of g are finite, here and below.
Tensor int8_input_gradient(const MeasuredGradient& g, const PackedS8& weights,
                           std::span<const float> scales, const GradientRounding& rounding);

/// Computes the gradient [inputs, units] of the kernel of a product for an input [rows, inputs]
/// with the scale and the zero point `params`.
Tensor int8_kernel_gradient(std::span<const std::int8_t> x, const QuantParams& params,
                            const MeasuredGradient& g, const GradientRounding& rounding,
                            const FinishRows& finish);

/// Computes the same gradients of a convolution of one group; blocks of g are images. There is no
/// kernel gradient where images have more rows than int32 sums allow.
Tensor int8_input_gradient(const Conv2DGeometry& geometry, const MeasuredGradient& g,
                           const QuantizedKernel& kernel, const GradientRounding& rounding);
std::optional<Tensor> int8_kernel_gradient(const Conv2DGeometry& geometry,
                                           std::span<const std::int8_t> x,
                                           const QuantParams& params, const MeasuredGradient& g,
                                           const GradientRounding& rounding,
                                           const FinishRows& finish);

/// The gradients of a layer on int8; none where a product has no such, or the input's is not
/// wanted.
struct Int8Gradients {
  std::optional<Tensor> input;
  std::optional<Tensor> kernel;
};

/// Operands of the gradients of a layer on int8, beside the gradient of its sums.
struct Int8Operands {
  /// Quantized values of the input, and their parameters.
  std::span<const std::int8_t> x;
  const QuantParams& params;
  bool to_input;
  /// How g is rounded in the products with the kernel, which give the gradient of the input.
  GradientRounding input_rounding;
  /// How g is rounded in the products with x.
  GradientRounding kernel_rounding;
  FinishRows finish;
};

/// Computes the same gradients of a depthwise convolution from one rounding of g,
/// `kernel_rounding`; the kernel is [height, width, 1, units].
Int8Gradients int8_depthwise_gradients(const Conv2DGeometry& geometry, const MeasuredGradient& g,
                                       const QuantizedKernel& kernel, const Int8Operands& operands);

/// Computes the same gradients of a transposed convolution. The geometry is that of the convolution
/// from its results back to its images x; the kernel is [height, width, inputs, units].
Tensor int8_transposed_input_gradient(const Conv2DGeometry& geometry, const MeasuredGradient& g,
                                      const QuantizedKernel& kernel,
                                      const GradientRounding& rounding);
std::optional<Tensor> int8_transposed_kernel_gradient(
    const Conv2DGeometry& geometry, std::span<const std::int8_t> x, const QuantParams& params,
    const MeasuredGradient& g, const GradientRounding& rounding, const FinishRows& finish);

}  // namespace octet
