#pragma once

#include <octet/compress/post_training.h>
#include <octet/core/tensor.h>
#include <octet/layers/model.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace octet {

struct AdaRoundOptions {
  /// Steps of Adam for each layer, and the samples of each.
  std::size_t steps = 1000;
  std::size_t batch_size = 32;
  float learning_rate = 1e-2F;
  /// The weight of the regularizer that drives every weight up or down, and the share of the steps
  /// before it sets in.
  float regularization = 0.01F;
  float warm_up = 0.2F;
  /// The regularizer's exponent, which falls along half a cosine.
  int first_exponent = 20;
  int last_exponent = 2;
  /// Seed of the samples that each step draws.
  std::uint64_t seed = 0;
};

/// A layer whose rounding was learned.
struct RoundedLayer {
  std::string layer;
  /// The mean squared difference to the float network behind a ReLU or ReLU6, before any other
  /// activation, over all samples: with every weight rounded to nearest, and with what was learned.
  /// Where that is no better the layer stays as it was.
  double nearest_error = 0.0;
  double learned_error = 0.0;
  /// The share of the weights that are not rounded to nearest.
  double moved = 0.0;

  bool operator==(const RoundedLayer&) const = default;
};

struct AdaRounding {
  std::vector<RoundedLayer> rounded;
  /// The layers with a kernel whose rounding was not learned.
  std::vector<LeftOut> left_out;
};

/// AdaRound (Nagel et al., ICML 2020): which of the two quantized values next to a weight is best
/// depends on all other weights of its unit. For each layer in the order of the graph, with weights
/// w of scale s, v one number per weight, and both networks run on the same samples,
///
///     h(v) = clip(1.2 sigmoid(v) - 0.1, 0, 1),   w' = s (floor(w / s) + h(v))
///     loss = mean over samples and pixels of sum over units (f(x w' + b) - f(x_float w +
///     b_float))^2
///            + regularization * sum(1 - |2 h(v) - 1|^exponent)
///
/// is made small by Adam, v starting where w' = w. x is what the quantized network gives the layer,
/// whose layers in front are rounded by then, x_float what the float one does; f is a ReLU or ReLU6
/// that ends the layer. Then h is rounded to 0 or 1. Weights outside the quantized range keep their
/// quantized value. The exponent is a whole number in each step, so that powers are products.
///
/// A weight for which another quantized value was found becomes that value times s, so that
/// ordinary rounding gives it, in training, in the interpreter and in files; all others stay as
/// they are. The range of such a kernel is frozen, since it would move with its weights:
/// `layer.kernel_quantizer()->freeze(false)` lets it follow them again, as a training from here on
/// may want.
///
/// `quantized` is what calibrate() has given ranges; the float network is that of the weights as
/// they are, or of `reference`, a copy of the model from before something else has changed them.
/// `inputs` are one tensor [n, ...] for each of its inputs, whose n samples run as one batch. The
/// same bytes on any number of threads. Throws as correct_biases(), and InvalidArgument for options
/// that are not above 0, a regularization below 0, a warm-up outside [0, 1], and exponents below 2
/// or that rise.
AdaRounding adaround(Model& quantized, const Model& reference, std::span<const Tensor> inputs,
                     const AdaRoundOptions& options = {});
AdaRounding adaround(Model& quantized, std::span<const Tensor> inputs,
                     const AdaRoundOptions& options = {});
/// @overload
inline AdaRounding adaround(Model& quantized, const Model& reference, const Tensor& samples,
                            const AdaRoundOptions& options = {}) {
  return adaround(quantized, reference, {&samples, 1}, options);
}
/// @overload
inline AdaRounding adaround(Model& quantized, const Tensor& samples,
                            const AdaRoundOptions& options = {}) {
  return adaround(quantized, {&samples, 1}, options);
}

}  // namespace octet
