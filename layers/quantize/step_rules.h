#pragma once

#include <octet/core/quant/quant_params.h>
#include <octet/core/quant/rounding.h>
#include <octet/layers/program/program.h>
#include <octet/layers/quantize/result_rule.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>

// Where the scales and zero points of a program's values come from.

namespace octet {

/// The quantizer that gives a value its scale and zero point, its own or that of what it was moved
/// or pooled from; null for one that has none.
Quantizer* quantizer_of(const Program& program, std::size_t value);

/// The step whose operator gives a value its scale and zero point, as softmax does; null where they
/// are measured or there are none.
const Step* fixed_by(const Program& program, std::size_t value);

/// Where the scale and the zero point of a step's result come from, unless its StepScheme has a
/// quantizer for it.
ResultRule rule_of(const Step& step, Rounding rounding);

/// Whether a step passes the scale, the zero point and the range of its first input on.
bool passes_on(const Step& step);

/// Whether a layer computes Graph::linear() and nothing else.
bool is_linear_alone(const Layer& layer);

/// Whether the operator clamps integers and does not rescale them: RELU6 in TFLite Micro.
bool only_clamps(OpCode code, Rounding rounding);

/// Whether the step takes the scale and the zero point of its result from a quantizer.
bool measures_result(const Step& step, Rounding rounding);

/// The scale and the zero point of what an operator makes of `inputs`; `measured` are those of its
/// quantizer, where it has one.
QuantParams result_params(OpCode code, std::span<const QuantParams> inputs,
                          const std::optional<QuantParams>& measured, const std::string& owner);

}  // namespace octet
