#pragma once

#include <octet/core/conv2d_geometry.h>
#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/ops/image_ops.h>
#include <octet/core/quant/activation_range.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/quant/rounding.h>
#include <octet/layers/layer.h>
#include <octet/runtime/operator.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace octet {

/// The integers of a layer with weights: what training computes with and what export writes.
struct WeightCodes {
  /// [units, inputs of a unit]; unpack() gives what FULLY_CONNECTED, CONV_2D and TRANSPOSE_CONV
  /// store.
  PackedS8 weights;
  /// One scale, or one per unit; zero points 0; quantized_dimension 0.
  QuantParams weight_params;
  /// One per unit, of scale input_scale * weight_scale; empty without bias.
  std::vector<std::int32_t> bias;
};

/// The weights of a layer that FULLY_CONNECTED or an operator of a convolution computes. Throws
/// InvalidArgument that names `owner` unless the layer has a kernel [inputs, units] with unit_axis
/// 1, examples [.., inputs] and results [.., units], or those of a convolution (see LayerWeights),
/// and, where it has one, a bias [units].
LayerWeights require_weights(const Layer& layer, const std::string& owner);
/// Throws InvalidArgument that names `owner` unless weights of this layout make `results` of
/// `examples`, see above.
void require_operator_weights(const LayerWeights& weights, const Shape& examples,
                              const Shape& results, const std::string& owner);

/// The operator that computes a layer with weights.
OpCode operator_of(const LayerWeights& weights);

/// The geometry of a transposed convolution of images x with LayerWeights of this kernel: see
/// transposed_conv2d_geometry(). Throws InvalidArgument where they do not fit, and for groups or
/// dilation.
Conv2DGeometry transposed_geometry(const Tensor& x, const LayerWeights& weights);

/// Whether a clamp that ends the layer is an operator of its own, RELU or RELU6 on the grid of the
/// sums: under contract double in TRANSPOSE_CONV, where TFLite Micro and CMSIS-NN leave out a fused
/// one.
bool has_separate_clamp(const LayerWeights& weights, FusedActivation clamp, Rounding rounding);

/// The zeros that a convolution with padding causal has in front of its images: a PAD in files.
Padding2D zeros_in_front(const LayerWeights& weights);

/// The images that a convolution reads for `examples`: sequences [steps, channels] are images
/// [1, steps, channels], examples [channels] images of one pixel.
Shape images_of(const Shape& examples);

/// Weights [units, taps] as DEPTHWISE_CONV_2D stores them: [taps, units].
std::vector<std::int8_t> taps_first(std::span<const std::int8_t> weights, Index units);

/// w_q = clamp(round_half_away(w / scale)), b_q = round_half_away(b / (input_scale * scale)).
/// `kernel_params` are those of the kernel's quantizer (per channel along the units). Scales
/// grow where a bias would not fit int32 otherwise. `owner` names the layer in errors.
/// Throws InvalidArgument unless the kernel's codes are int8 with zero point 0, and its scales one
/// or as many as it has units.
WeightCodes make_weight_codes(const LayerWeights& layer, const QuantParams& kernel_params,
                              float input_scale, const std::string& owner);

/// The largest value that any sum can reach for any input: the maximum over the units of
/// sum |w_q| * max |x_q - zero_point| + |b_q|. Throws InvalidArgument that names `owner` and the
/// unit where that is above 2^31 - 1; on an input of int16 codes there is no such limit.
std::int64_t accumulator_bound(const WeightCodes& codes, const QuantParams& input,
                               const std::string& owner);

}  // namespace octet
