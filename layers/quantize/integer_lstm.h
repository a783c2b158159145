#pragma once

#include <octet/layers/program/program.h>

// UNIDIRECTIONAL_SEQUENCE_LSTM in training: the exported operator's kernel tells the functions of
// the gates that it has computed, and gradients are made of these, not of a second pass in floats.

namespace octet {

/// Whether integer_lstm() computes this step, whose inputs are quantized: training with a range for
/// the result. Calibration takes ranges from real values.
bool is_traced_lstm(const Step& step, const StepInputs& in);

/// The operator on quantized inputs. The range of the result takes in this batch behind it, since
/// the hidden state needs its scale from the first step of time on.
Tensor integer_lstm(const Step& step, const StepInputs& in);

}  // namespace octet
