#pragma once

#include <octet/core/tensor.h>
#include <octet/layers/model.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

// What makes a trained network lose less where it is quantized without training: two calls work on
// the float model, before quantize_model(), the third on what calibrate() has left.

namespace octet {

/// A layer with a kernel that a helper has left as it was, and why.
struct LeftOut {
  std::string layer;
  std::string reason;

  bool operator==(const LeftOut&) const = default;
};

/// Two layers whose channels were equalized: `second` reads what `first` gives.
struct EqualizedPair {
  std::string first;
  std::string second;
  /// How many times wider the widest channel was than the narrowest, before and after, in the first
  /// layer or in the second, whichever is more.
  double spread_before = 1.0;
  double spread_after = 1.0;

  bool operator==(const EqualizedPair&) const = default;
};

struct Equalization {
  std::vector<EqualizedPair> pairs;
  /// The layers with a kernel that are first in no pair.
  std::vector<LeftOut> left_out;
  /// How often all pairs were gone through.
  std::size_t rounds = 0;
};

/// Cross-layer equalization (Nagel et al., ICCV 2019): gives the channels between two layers ranges
/// that are alike, so that one scale fits them all, without changing what the network computes but
/// for rounding. With r1[c] the largest |weight| that makes channel c in the first layer and r2[c]
/// the largest that reads it in the second,
///
///     s[c] = sqrt(r1[c] r2[c]) / r2[c];   W1[.., c] /= s[c], b1[c] /= s[c], W2[c, ..] *= s[c]
///
/// after which both are sqrt(r1[c] r2[c]). A channel stays where either is below a millionth of the
/// largest of its layer: s would make a bias of such a dead one enormous. Pairs that share a layer
/// take turns until no s is further than a millionth from 1, at most 200 times; around a depthwise
/// convolution the three ranges of a channel end as the cube root of their product.
///
/// A pair is two layers that derive from KernelLayer and keep their kernel as LayerWeights has it.
/// A BatchNorm behind one belongs to it, W and b being the folded ones; behind the first, its gamma
/// and beta take the factors. What stands between is read by nothing else and is none but ReLU,
/// LeakyReLU, Dropout, pools, ZeroPadding2D, UpSampling2D, Resizing, Slice of other axes than the
/// channels, Concatenate of channels, and Reshape and Flatten that keep whole channels together.
/// Other layers, ReLU6 and HardSwish among them, do not scale as what they read does, and are named
/// in the result.
///
/// `model` is in float; its ranges of results change, so that quantize_model() and calibrate() come
/// afterwards. Throws InvalidArgument for a model without tensors and one that is quantized,
/// NumericError that names the layer for weights that are NaN or infinite, or would become so;
/// nothing is changed then.
Equalization cross_layer_equalization(Model& model);

/// The mean and the deviation from it of each channel of examples, i.e. of their last axis: the
/// standard deviation, or where the mean has to stay 0 the root mean square.
struct Standardization {
  std::vector<float> mean;
  std::vector<float> deviation;

  /// (x - mean) / deviation of x [n, ..., channels]. Throws InvalidArgument for another number of
  /// channels.
  Tensor apply(const Tensor& x) const;
};

/// Moves the units of the input's channels into the first layer, exactly but for rounding: `model`
/// then computes of apply(x) what it computed of x. The whole input has one scale, so that columns
/// in small units lie between its quantized values where others are in large ones (degrees beside
/// pascals); standardized columns use the quantized values alike. Whoever runs the model
/// standardizes its input.
///
///     const Standardization columns = standardize_inputs(model, train.features(0, 1000));
///     Model quantized = quantize_post_training(model, columns.apply(train.features(0, 1000)));
///
/// The mean stays 0 where the first layer pads with zeros or has no bias; a column that
/// is its mean throughout keeps a deviation of 1. Throws InvalidArgument for a model without
/// tensors, one that is quantized, samples of another number of channels, several inputs, and one
/// that is not read by one BatchNorm, Dense or convolution alone; NumericError for samples that are
/// not finite.
Standardization standardize_inputs(Model& model, const Tensor& samples);

/// A layer whose bias was corrected.
struct CorrectedBias {
  std::string layer;
  /// The largest and the root mean square of the mean errors of its channels, before.
  double largest_error = 0.0;
  double error = 0.0;

  bool operator==(const CorrectedBias&) const = default;
};

struct BiasCorrection {
  std::vector<CorrectedBias> corrected;
  /// The layers with a kernel that have no bias to correct.
  std::vector<LeftOut> left_out;
};

/// Empirical bias correction (Nagel et al., ICCV 2019): rounding weights shifts the mean of what a
/// layer gives, and the bias can take that back. With y what a layer computes before its activation
/// in the quantized network, and y_float in the float one, on the same samples,
///
///     b[c] -= mean over samples and pixels of (y[c] - y_float[c])
///
/// layer by layer in the order of the graph, so that each sees what the corrections in front of it
/// have done. y is made of the quantized values of its inputs and its weights; the bias of a
/// FoldedBatchNorm is its beta. Ranges stay as they are.
///
/// `quantized` is what calibrate() has given ranges; `inputs` are one tensor [n, ...] for each of
/// its inputs, whose n samples run as one batch. The float network is that of the weights as they
/// are, or of `reference`: a copy of the model from before its weights were changed, by adaround()
/// for example. The same on any number of threads. Throws InvalidArgument for a model that is not
/// quantized or has no ranges, a reference of other layers, another number of inputs, and no
/// samples; NumericError that names the layer for a mean that is NaN or infinite.
BiasCorrection correct_biases(Model& quantized, const Model& reference,
                              std::span<const Tensor> inputs);
BiasCorrection correct_biases(Model& quantized, std::span<const Tensor> inputs);
/// @overload
inline BiasCorrection correct_biases(Model& quantized, const Model& reference,
                                     const Tensor& samples) {
  return correct_biases(quantized, reference, {&samples, 1});
}
/// @overload
inline BiasCorrection correct_biases(Model& quantized, const Tensor& samples) {
  return correct_biases(quantized, {&samples, 1});
}

}  // namespace octet
