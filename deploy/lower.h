#pragma once

#include <octet/deploy/dense_form.h>
#include <octet/layers/sequential.h>
#include <octet/runtime/integer_model.h>

namespace octet {

/// Element types of a lowered model's input and output.
enum class IoType {
  int8,    ///< the first and last codes themselves
  uint8,   ///< the same codes plus 128, by a QUANTIZE at each end
  float32  ///< reals, by a QUANTIZE in front and a DEQUANTIZE behind
};

struct LowerOptions {
  IoType input = IoType::int8;
  IoType output = IoType::int8;
  DenseForm per_channel_dense = DenseForm::fully_connected;
};

/// The integers of a trained, quantized model: those that Simulation::integer trains with.
/// Kernel ranges are taken as they are: call refresh_kernel_ranges() first.
///
/// Metadata: "octet.rounding", the contract; "octet.accumulator_bound", the largest value that any
/// sum of any layer can reach for any input.
/// Throws InvalidArgument that names the layer where it is not quantized, has no range, has a
/// result on other codes than those of int8, quantizes the output of a ReLU6 of its own under
/// contract double (require_exportable_clamp()), or could overflow int32:
/// sum |w_q| * max |x_q - zero_point| + |b_q| above 2^31 - 1 for some unit.
IntegerModel lower(const Sequential& model, const LowerOptions& options = {});

/// A float model with float operators, for comparison. Throws InvalidArgument that names a layer
/// it cannot express.
IntegerModel lower_float(const Sequential& model);

}  // namespace octet
