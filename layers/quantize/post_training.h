#pragma once

#include <octet/core/tensor.h>
#include <octet/layers/model.h>

#include <string>
#include <vector>

// What makes a trained network lose less where it is quantized without training.

namespace octet {

/// A layer with a kernel that a helper has left as it was, and why.
struct LeftOut {
  std::string layer;
  std::string reason;

  bool operator==(const LeftOut&) const = default;
};

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
/// have done. y is made of the codes of its inputs and its weights; the bias of a FoldedBatchNorm
/// is its beta. Ranges stay as they are.
///
/// `quantized` is what calibrate() has given ranges; all samples, shaped as its input, run as one
/// batch. The float network is that of the weights as they are, or of `reference`: a copy of the
/// model from before its weights were changed, by adaround() for example. The same on any number of
/// threads. Throws InvalidArgument for a model that is not quantized or has no ranges, or has
/// several inputs, a reference of other layers, and no samples; NumericError that names the layer
/// for a mean that is NaN or infinite.
BiasCorrection correct_biases(Model& quantized, const Tensor& samples);
BiasCorrection correct_biases(Model& quantized, const Model& reference, const Tensor& samples);

}  // namespace octet
