#pragma once

#include <octet/layers/quantize/quantize_config.h>
#include <octet/layers/sequential.h>

namespace octet {

/// A copy of a built model, its weights copied, with quantization in the loop: a QuantizeLayer
/// behind the input and every layer wrapped as default_8bit(options) says. A ReLU or ReLU6 layer
/// behind a Dense layer without activation becomes that layer's own; one that stays a layer has its
/// output quantized, but for a ReLU6 under contract double (clamps_input_codes()). The original is
/// untouched.
/// Throws InvalidArgument for a model without tensors, one that is quantized already, or a layer
/// whose kind it does not know.
Sequential quantize_model(const Sequential& model, const QuantizeOptions& options = {});

/// Marks a layer for quantize_apply(), to be quantized as `config` says (null: the default scheme).
std::unique_ptr<Layer> quantize_annotate_layer(std::unique_ptr<Layer> layer,
                                               std::shared_ptr<const QuantizeConfig> config = {});

template <std::derived_from<Layer> L>
std::unique_ptr<Layer> quantize_annotate_layer(L layer,
                                               std::shared_ptr<const QuantizeConfig> config = {}) {
  return quantize_annotate_layer(std::unique_ptr<Layer>(std::make_unique<L>(std::move(layer))),
                                 std::move(config));
}

/// As quantize_model(), for the marked layers of a built model alone. A layer that is not marked
/// but feeds a marked one gets its result quantized, nothing else. Throws InvalidArgument also
/// where no layer is marked, and where require_exportable_clamp() refuses a user's config.
Sequential quantize_apply(const Sequential& model, const QuantizeOptions& options = {});

/// Runs `features` through a quantized model so that its quantizers see the ranges; changes no
/// parameter. What post-training quantization does, and where quantization-aware training starts.
void calibrate(const Sequential& model, const Tensor& features);

/// Takes every kernel's range from the kernel as it is now: before evaluation and export.
void refresh_kernel_ranges(const Sequential& model);

/// Stops, or takes up again, the observation of activations' and inputs' ranges.
void freeze_ranges(const Sequential& model, bool frozen);

/// Lets tensors pass unchanged while off; ranges are observed all the same.
void enable_quantization(const Sequential& model, bool enabled);

/// Whether the model came from quantize_model() or quantize_apply().
bool is_quantized(const Sequential& model);

/// Whether every quantizer of the model has a range.
bool has_ranges(const Sequential& model);

}  // namespace octet
