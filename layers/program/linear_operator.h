#pragma once

#include <octet/core/conv2d_geometry.h>
#include <octet/core/ops/image_ops.h>
#include <octet/core/quant/activation_range.h>
#include <octet/core/quant/rounding.h>
#include <octet/layers/layer.h>
#include <octet/runtime/operator.h>

#include <string>

// What LayerWeights are as an operator: which one, of which images, and what it takes.

namespace octet {

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

/// Whether a clamp that ends the layer is an operator of its own, RELU or RELU6 with the scale of
/// the sums: under contract double in TRANSPOSE_CONV, where TFLite Micro and CMSIS-NN leave out a
/// fused one.
bool has_separate_clamp(const LayerWeights& weights, FusedActivation clamp, Rounding rounding);

/// The zeros that a convolution with padding causal has in front of its images: a PAD in files.
Padding2D zeros_in_front(const LayerWeights& weights);

/// The images that a convolution reads for `examples`: sequences [steps, channels] are images
/// [1, steps, channels], examples [channels] images of one pixel.
Shape images_of(const Shape& examples);

}  // namespace octet
