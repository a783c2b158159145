#pragma once

#include <octet/layers/program/program.h>
#include <octet/layers/quantize/quantizer.h>
#include <octet/runtime/integer_model.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace octet {

// Ops on integers, for training: each computes exactly what the exported operator computes.
// Gradients are straight-through, as in fake quantization.

/// Returns the quantization parameters of x. Throws InvalidArgument that names `owner` where x
/// stores real values.
const QuantParams& require_grid(const Tensor& x, const std::string& owner);

/// Lowers one step, as an export does, to the model that training runs it by: its inputs have the
/// quantization parameters of `in`, its outputs are the results of all of its operators.
IntegerModel single_step_model(const Step& step, const StepInputs& in);

/// Computes the operator of a step, which has a StepScheme, on integers, by the kernels that
/// the Interpreter runs. `real` is its result in floats, or undefined where no gradient is wanted:
/// gradients go on to it, where `clips` only from values between the real values of qmin and qmax,
/// and to what the scale is learned from.
Tensor integer_operator(const Step& step, const StepInputs& in, const Tensor& real, bool clips,
                        const LearnedRange& learned);

/// Returns `result`, the integers of `real`, with gradients that go on to it, where `clips` only
/// from values between the real values of qmin and qmax, and to what the scale is learned from.
Tensor with_gradients_of(const Tensor& real, const Tensor& result, bool clips,
                         const LearnedRange& learned);

/// What a StepScheme keeps for integer_operator(): operators stay prepared while scales do.
std::shared_ptr<PreparedStep> make_prepared_step();

/// Whether the quantized values of x need int16.
bool is_int16(const Tensor& x);

}  // namespace octet
