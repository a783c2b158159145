#pragma once

#include <octet/layers/program/program.h>

#include <span>

// The passes over the program of a quantized network, once all layers have emitted, in the order in
// which they run. What is asked of the network before it has a program is in model_passes.h.

namespace octet {

/// Decides which steps compute on integers, StepScheme::on_integers, and what each value holds,
/// Program::Value::form: once, for training and for lower(). The first values of the program, which
/// come from outside, have the forms `inputs`; others from outside are real.
void decide_forms(Program& program, std::span<const ValueForm> inputs = {});

/// Sets StepScheme::is_radicand of the steps whose results SQRT and RSQRT read, also behind
/// operators that keep scale and zero point.
void find_radicands(Program& program);

/// Lets steps that have one quantizer observe one range, as those that a scan repeats: sets
/// StepScheme::shared. The quantizer of a parameter needs none, since its values are those of now.
void share_ranges(Program& program);

/// Ties the quantizers of what an operator joins whose inputs share scale and zero point, as those
/// of CONCATENATION. Throws InvalidArgument for an input of such an operator whose own operator
/// fixes its scale, unless all have the same, for a first one without a quantizer, and as
/// Quantizer::tie().
void tie_joined_inputs(Program& program);

/// Inserts a step of kind requantize in front of each value that such an operator reads, to the
/// quantizer of the first. It changes nothing where the value has that scale and zero point; a
/// value lacks them where its quantizer is not tied, where a runtime could not take those of all,
/// and in training where ranges have moved or a Dropout has widened one.
void requantize_joined_inputs(Program& program);

/// Runs all passes. The first values of the program, which come from outside, have the forms
/// `inputs`. Throws as they do.
void prepare_quantized(Program& program, std::span<const ValueForm> inputs = {});

}  // namespace octet
