#pragma once

#include <octet/layers/program/program.h>

#include <cstddef>

namespace octet {

/// A step of a quantized layer as its StepScheme says: on integers, or in floats with fake
/// quantization. Observes ranges and passes gradients as the context asks.
Tensor run_quantized(const Step& step, const StepInputs& in);

/// Prepares a step of a program once all layers have emitted. Makes the quantizer of its result one
/// with those of earlier steps that share it. Ties the quantizers of what an operator joins, as
/// CONCATENATION, so that all inputs have one scale and zero point, and makes the first
/// StepScheme::joined of the step. Throws InvalidArgument for an input whose operator gives it the
/// scale, and as Quantizer::tie().
void prepare_quantized(Program& program, std::size_t step);

}  // namespace octet
