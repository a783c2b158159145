// What a quantized layer requires of its kernel.

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/kernels/gemm_s8.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/program/linear_operator.h>
#include <octet/layers/quantize/quantize_wrapper.h>

namespace octet {

/// Throws InvalidArgument where the kernel's scales do not belong to its units, or its integers
/// could not be multiplied with.
void QuantizeWrapper::require_sound_kernel() const {
  const int axis = kernel_->spec().axis;
  const int unit_axis = layer_->weights()->unit_axis;
  if (axis >= 0 && axis != unit_axis) {
    throw InvalidArgument(
        fmt::format("layer \"{}\": expected one range for the kernel, or one per unit, on axis {}, "
                    "found a quantizer with axis {}",
                    name(), unit_axis, axis));
  }
  if (!in_integers() || !result_) return;
  require_weights(*layer_, fmt::format("layer \"{}\"", name()));
  require_int32_sums();
}

/// Throws InvalidArgument for a unit that reads more codes than the kernels add up in int32; int16
/// codes are added up in int64.
void QuantizeWrapper::require_int32_sums() const {
  const LayerWeights weights = *layer_->weights();
  const Index inputs = weights.kernel.size() / weights.kernel.dim(weights.unit_axis);
  if (inputs <= PackedS8::kMostInputs || config_->options().rounding == Rounding::q15) return;
  throw InvalidArgument(fmt::format(
      "layer \"{}\": expected units that read at most {} values each, whose int8 products an int32 "
      "sum holds, found {}; make the examples smaller in front of it, by strides or a pool, or "
      "leave it in_float()",
      name(), PackedS8::kMostInputs, inputs));
}

/// Throws InvalidArgument where weights are to be frozen that would not stay so.
void QuantizeWrapper::require_freezable() const {
  const float above = config_->options().freeze_oscillations_above;
  if (above == 0.0F) return;
  if (kernel_->parameters().empty()) {
    throw InvalidArgument(
        fmt::format("layer \"{}\": expected a kernel of learned scale to freeze weights above a "
                    "frequency of {}, found {}, whose scale moves with the weights; set "
                    "weight_scales to lsq",
                    name(), above, kernel_->type()));
  }
  if (folded_batch_norm(*layer_) != nullptr) {
    throw InvalidArgument(fmt::format(
        "layer \"{}\": expected a kernel of its own to freeze weights above a frequency "
        "of {}, found one that a batch normalization multiplies; leave "
        "freeze_oscillations_above at 0 for it",
        name(), above));
  }
}

void QuantizeWrapper::hold_frozen_weights() {
  if (!holds_frozen_weights()) oscillation_->hold(layer_->weights()->kernel, kernel_->params());
}

bool QuantizeWrapper::holds_frozen_weights() const {
  return !oscillation_ || !kernel_->has_range() ||
         oscillation_->is_held(layer_->weights()->kernel, kernel_->params());
}

}  // namespace octet
