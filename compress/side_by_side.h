#pragma once

#include <octet/core/function_ref.h>
#include <octet/core/tensor.h>
#include <octet/layers/model.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace octet {

/// A copy of a quantized model that computes in floats.
Model in_floats(const Model& quantized);

/// Sees layer `i` of both models before it runs in either, with what it reads in them.
using VisitBoth = FunctionRef<void(std::size_t i, const Tensor& x, const Tensor& x_float)>;

/// Runs a quantized model and its reference in_floats(), layer by layer and as inference does, on
/// the same samples, as one batch: what `visit` changes of a layer counts for those behind it. Only
/// layers with a kernel are visited. Throws InvalidArgument, naming `operation`, for a model that
/// is not quantized or has no ranges, a reference of other layers, no samples, and inputs that are
/// not one tensor for each of the model's.
void run_side_by_side(std::string_view operation, Model& quantized, const Model& reference,
                      std::span<const Tensor> inputs, VisitBoth visit);

/// The kernel of a quantized layer as it is shipped: codes times scale. The kernel itself where the
/// layer has no quantizer for it.
Tensor kernel_on_grid(const Layer& layer);

/// What a layer with a kernel computes before its activation, with its own bias and `kernel` in the
/// place of its own. Gradients reach x and `kernel`.
Tensor linear_with(const Layer& layer, const Tensor& x, const Tensor& kernel);

/// The tensor that is added last to each unit of a layer with a kernel: its bias, or the beta of a
/// FoldedBatchNorm; undefined where it has none of its own.
Tensor own_bias(Layer& layer);

/// Whether one of the layer's parameters is kept where `tensor` is.
bool is_parameter(const Layer& layer, const Tensor& tensor);

}  // namespace octet
