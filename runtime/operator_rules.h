#pragma once

#include <octet/runtime/integer_model.h>

#include <cstddef>

namespace octet::detail {

/// Throws FormatError unless operator `index` of `model` has operands of the number, types, shapes
/// and quantization that its code takes. The tensors themselves have been checked before.
void check_operator(const IntegerModel& model, std::size_t index);

/// The rescaling factor of a bias is in_scale * w_scale: the relative error that is accepted.
inline constexpr double kBiasScaleTolerance = 0.02;

/// How far the fixed output scale of SOFTMAX, LOGISTIC and TANH may be off, relatively.
inline constexpr double kFixedScaleTolerance = 0.001;

}  // namespace octet::detail
