#pragma once

#include <octet/layers/program/program.h>

#include <cstddef>

namespace octet {

/// A step of a quantized layer as its StepScheme says: on integers, or in floats with fake
/// quantization. Observes ranges and passes gradients as the context asks.
Tensor run_quantized(const Step& step, const StepInputs& in);

/// Ties the quantizers of what a CONCATENATION joins, so that all inputs have one scale and zero
/// point, and makes the first StepScheme::joined of the step; nothing for another step. Throws
/// InvalidArgument for an input whose operator gives it the scale, and as Quantizer::tie().
void tie_joined(Program& program, std::size_t step);

/// The quantizer that gives a value its scale and zero point, its own or that of what it was moved
/// or pooled from; null for one that has none.
Quantizer* quantizer_of(const Program& program, std::size_t value);

/// The step whose operator gives a value its scale and zero point, as softmax does; null where they
/// are measured or there are none.
const Step* fixed_by(const Program& program, std::size_t value);

/// Whether the operator clamps integers and does not rescale them: RELU6 in TFLite Micro.
bool only_clamps(OpCode code, Rounding rounding);

/// Whether the step takes the scale and the zero point of its result from a quantizer.
bool measures_result(const Step& step, Rounding rounding);

/// The scale and the zero point of what an operator makes of `inputs`; `measured` are those of its
/// quantizer, where it has one.
QuantParams result_params(OpCode code, std::span<const QuantParams> inputs,
                          const std::optional<QuantParams>& measured, const std::string& owner);

}  // namespace octet
