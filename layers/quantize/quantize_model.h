#pragma once

#include <octet/layers/quantize/quantize_config.h>
#include <octet/layers/quantize/ranges.h>
#include <octet/layers/sequential.h>

#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace octet {

/// A copy of a built model, its weights copied, with quantization in the loop: a QuantizeLayer
/// after each input, and every layer wrapped as default_8bit(options) says. A ReLU or ReLU6 layer
/// is fused into the layer it reads if it is that layer's only reader and that layer has no
/// activation. Otherwise its output is quantized; the exception is a ReLU6 in rounding mode double,
/// which only clamps its quantized input. A BatchNorm becomes part of the layer with a kernel that
/// it reads, see FoldedBatchNorm, if it is that layer's only reader, that layer has no activation,
/// and both are quantized or both left in_float(); otherwise it is a layer of its own, a depthwise
/// convolution of 1 x 1. A clamp behind it is fused as well. A layer left in_float() is copied as
/// it is, and followed by a QuantizeLayer if a layer that is quantized reads it. The original is
/// untouched. Throws InvalidArgument for a model without tensors, one that is quantized already, a
/// layer that has no default scheme, or a BatchNorm of its own for examples of more than three
/// axes.
Model quantize_model(const Model& model, const QuantizeOptions& options = {});
/// A chain stays a chain.
inline Sequential quantize_model(const Sequential& model, const QuantizeOptions& options = {}) {
  return quantize_model(static_cast<const Model&>(model), options);
}

/// A layer quantized in another way than the others of its model, or left in float, in the list of
/// a model's layers:
///
///     Sequential model("mixed", Input({784}),
///                      quantized(Dense(128, Activation::relu), {.weight_bits = 4}),
///                      quantized(Dense(64, Activation::relu), {.per_channel = true}),
///                      Dense(10), in_float(Softmax()));
///
/// quantize_model() follows it, and for quantize_apply() quantized() is a mark. A layer that is in
/// a model already is told by model.layer("dense").set_quantization({.weight_bits = 4}).
template <std::derived_from<Layer> L>
L quantized(L layer, const LayerQuantization& how) {
  layer.set_quantization(how);
  return layer;
}
template <std::derived_from<Layer> L>
L in_float(L layer) {
  return quantized(std::move(layer), {.in_float = true});
}

/// Marks a layer for quantize_apply(), to be quantized as `config` says (null: the default scheme).
/// Throws InvalidArgument for an Input, for a layer that is marked, and for one that is quantized.
std::unique_ptr<Layer> quantize_annotate_layer(std::unique_ptr<Layer> layer,
                                               std::shared_ptr<const QuantizeConfig> config = {});
void quantize_annotate_layer(Layer& layer, std::shared_ptr<const QuantizeConfig> config);

/// Annotates a layer as it is made, e.g. in the list of a Sequential's layers.
template <std::derived_from<Layer> L>
L quantize_annotate_layer(L layer, std::shared_ptr<const QuantizeConfig> config = {}) {
  quantize_annotate_layer(static_cast<Layer&>(layer), std::move(config));
  return layer;
}

/// Quantizes the marked layers of a built model alone, as quantize_model() does. A layer that is
/// not marked but feeds a marked one gets its result quantized, nothing else: by a quantizer of its
/// own, or by a QuantizeLayer behind it. Throws InvalidArgument as quantize_model(), and where no
/// layer is marked or require_exportable_clamp() refuses a user's config.
Model quantize_apply(const Model& model, const QuantizeOptions& options = {});
inline Sequential quantize_apply(const Sequential& model, const QuantizeOptions& options = {}) {
  return quantize_apply(static_cast<const Model&>(model), options);
}

/// Post-training quantization in one call: quantize_model(), and ranges from `samples`, some
/// hundred examples as the model will see them, run as one batch; `inputs` as calibrate() takes
/// them. The result is ready to be evaluated, lowered and exported. Logs warnings as calibrate()
/// does. Throws InvalidArgument as quantize_model(), and as calibrate() does for its inputs.
Model quantize_post_training(const Model& model, std::span<const Tensor> inputs,
                             const QuantizeOptions& options = {});
/// @overload
inline Model quantize_post_training(const Model& model, const Tensor& samples,
                                    const QuantizeOptions& options = {}) {
  return quantize_post_training(model, {&samples, 1}, options);
}
inline Sequential quantize_post_training(const Sequential& model, const Tensor& samples,
                                         const QuantizeOptions& options = {}) {
  return quantize_post_training(static_cast<const Model&>(model), samples, options);
}

/// Keeps the moving statistics of batch normalization in quantized layers as they are from now on:
/// for BatchNormMode::statistics. Training then computes what evaluation and the exported model do.
/// A Trainer does it by itself, see TrainerOptions::freeze_batch_norm_after.
void freeze_batch_norm(Model& model);

/// Whether the operator of layer `i`, or of one that it takes its scale from, gives its result a
/// scale, as softmax does.
bool has_fixed_scale(const Model& model, std::size_t i);

}  // namespace octet
