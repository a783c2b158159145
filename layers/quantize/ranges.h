#pragma once

#include <octet/layers/model.h>

#include <span>
#include <string>
#include <vector>

// The ranges of a quantized model: measured, kept, and what they say of it.

namespace octet {

/// Runs `features` through a quantized model so that its quantizers see the ranges; changes no
/// parameter. Once for post-training quantization; Trainer does it batch by batch before its first
/// step, and a moving average then lies inside the extremes of all. Returns what it logs as
/// warnings: range_warnings(), and that all features are one value. Throws InvalidArgument for a
/// model that is not quantized and for features without an example.
///
/// `inputs` are one tensor [n, ...] for each of the model's inputs, in their order:
/// std::vector{images, angles} for a model of two. Throws InvalidArgument for another number of
/// them and for batches of unlike sizes.
std::vector<std::string> calibrate(Model& model, std::span<const Tensor> inputs);
/// @overload
inline std::vector<std::string> calibrate(Model& model, const Tensor& features) {
  return calibrate(model, {&features, 1});
}

/// A line that names the layers whose results were 0 throughout the samples that gave the model its
/// ranges: they can represent next to nothing but 0, as after a data loader that failed. Empty
/// where there are none. calibrate(), quantize_post_training() and a Trainer before its first step
/// log it.
std::vector<std::string> range_warnings(const Model& model);

/// Takes every kernel's range from the kernel as it is now: before evaluation and export. In
/// training the range is one step old after the optimizer has moved the kernel, or a batch the
/// statistics of the batch normalization that is folded into it.
void refresh_kernel_ranges(Model& model);

/// Stops, or takes up again, the observation of activations' and inputs' ranges.
void freeze_ranges(Model& model, bool frozen);

/// Lets tensors pass unchanged while off; ranges are observed all the same.
void enable_quantization(Model& model, bool enabled);

/// How much of a layer's kernel oscillates between quantized values.
struct OscillatingWeights {
  std::string layer;
  double share = 0.0;   ///< of the weights, those that swing more often than the threshold
  double frozen = 0.0;  ///< of the weights, those that were frozen
};

/// The oscillating weights of every layer of a model for which QuantizeOptions::count_oscillations
/// or freeze_oscillations_above asks. `threshold` is a frequency, 1 / 200 by default as in the
/// paper.
std::vector<OscillatingWeights> oscillating_weights(const Model& model, float threshold = 0.005F);

/// Whether the model came from quantize_model() or quantize_apply().
bool is_quantized(const Model& model);

/// Whether every quantizer of the model has a range.
bool has_ranges(const Model& model);

}  // namespace octet
