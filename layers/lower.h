#pragma once

#include <octet/layers/lower_options.h>
#include <octet/layers/model.h>
#include <octet/runtime/integer_model.h>

#include <cstdint>
#include <vector>

namespace octet {

/// Converts a trained, quantized model to the integers that Simulation::integer trains with. Layers
/// that are left in float become float operators, between DEQUANTIZE and QUANTIZE; an input or an
/// output that belongs to them is float32 whatever the options ask for. The interpreter computes
/// their floats as training does, to the last bit.
/// Kernel ranges are taken as they are: call refresh_kernel_ranges() first.
///
/// Metadata: "octet.rounding", the rounding mode; "octet.accumulator_bound", the largest value that
/// any sum of any layer can reach for any input. Throws InvalidArgument that names the layer where
/// no layer is quantized, one has no range, has a result on other quantized values than those of
/// int8, or could overflow int32: sum |w_q| * max |x_q - zero_point| + |b_q| above 2^31 - 1 for
/// some unit; FormatError where an operator that a layer emitted does not take its operands.
IntegerModel lower(const Model& model, const LowerOptions& options = {});

/// Converts a float model to float operators, for comparison. Throws InvalidArgument that names a
/// layer it cannot express.
IntegerModel lower_float(const Model& model);

/// A lowered model, and the tensors that its layers became.
struct LoweredModel {
  IntegerModel model;
  /// By position in Model::layers(): the layer's quantized results, one per operator that writes
  /// one, in their order; may be empty. A QuantizeLayer's may be the model input. A RESHAPE that
  /// was joined with others is represented by the tensor that now has its values.
  std::vector<std::vector<std::int32_t>> tensors_of_layer;
};

/// lower() with default options, and which tensors each layer became.
LoweredModel lower_by_layer(const Model& model);

}  // namespace octet
