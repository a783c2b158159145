#pragma once

#include <octet/layers/program/program.h>

#include <span>

namespace octet {

/// A step of a quantized layer as its StepScheme says: on integers, or in floats with fake
/// quantization. Observes ranges and passes gradients as the context asks.
Tensor run_quantized(const Step& step, const StepInputs& in);

/// Prepares a program for training, once all layers have emitted: decide_forms(); steps that share
/// a quantizer observe one range; the quantizers of what an operator joins, as CONCATENATION, are
/// tied, so that all inputs have one scale and zero point, and the first is StepScheme::joined of
/// the step. Throws InvalidArgument for an input of such an operator whose own operator gives it
/// the scale, and as Quantizer::tie().
void prepare_quantized(Program& program, std::span<const ValueForm> inputs = {});

}  // namespace octet
