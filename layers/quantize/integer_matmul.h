#pragma once

#include <octet/layers/program/program.h>

namespace octet {

/// Whether integer_matmul() computes this step, whose inputs are quantized.
bool is_int8_matmul(const Step& step, const StepInputs& in);

/// Computes BATCH_MATMUL of int8 in training: the sums by the operator's kernel, which the
/// quantizer of the result sees as real values before they are rescaled by what it then says.
/// Gradients are those of integer_operator() that clips. Throws InvalidArgument for a quantizer of
/// other integers than int8.
Tensor integer_matmul(const Step& step, const StepInputs& in);

}  // namespace octet
