#pragma once

#include <octet/layers/program/program.h>

#include <span>

// The passes over the program of a quantized network, once all layers have emitted. With
// decide_forms() of step_rules.h in front, they run in the order in which they stand here. What
// changes the network before it has a program is in model_passes.h.

namespace octet {

/// Lets steps that have one quantizer observe one range, as those that a scan repeats: sets
/// StepScheme::shared. The quantizer of a parameter needs none, since its values are those of now.
void share_ranges(Program& program);

/// Ties the quantizers of what an operator joins whose inputs share scale and zero point, as those
/// of CONCATENATION, and sets StepScheme::joined of its step to the first. Throws InvalidArgument
/// for an input of such an operator whose own operator fixes its scale, unless all have the same,
/// and as Quantizer::tie().
void tie_joined_inputs(Program& program);

/// Runs all passes. The first values of the program, which come from outside, have the forms
/// `inputs`. Throws as they do.
void prepare_quantized(Program& program, std::span<const ValueForm> inputs = {});

}  // namespace octet
