#pragma once

#include <octet/core/function_ref.h>
#include <octet/layers/model.h>
#include <octet/layers/program/program.h>
#include <octet/layers/quantize/result_rule.h>

#include <cstddef>
#include <optional>
#include <vector>

// What quantize_model() asks of a network before it fuses activations, inserts QuantizeLayers and
// wraps layers, behind with_folded_batch_norm(). The passes over the
// program of a quantized network are in program_passes.h.

namespace octet {

/// Finds for each layer the clamp, such as a ReLU, that quantize_model() makes its activation, so
/// that runtimes clamp sums and not results. The layer takes such an activation,
/// nothing else reads it, neither is used several times, and may_fuse(layer, clamp) agrees.
std::vector<std::optional<std::size_t>> fusible_clamps(
    const Model& model, FunctionRef<bool(std::size_t layer, std::size_t clamp)> may_fuse);

/// Whether a quantized layer of this rule reads a value of this form through a
/// QuantizeLayer. That is a value that is real or, where the inputs of the layer's operator share a
/// scale, as those of CONCATENATION, one whose own operator fixes another.
bool needs_quantize_layer(const ValueForm& form, ResultRule rule);

/// By layer: whether its result, which then stays as it is, is looked up in a table, where it gets
/// there by way of layers that move it, too.
std::vector<bool> indices_of(const Model& model);

/// Throws InvalidArgument that names a layer which reads the result of layer `i`, one of `indices`,
/// and does not take it as indices.
void require_index_readers(const Model& model, const std::vector<bool>& indices, std::size_t i);

}  // namespace octet
