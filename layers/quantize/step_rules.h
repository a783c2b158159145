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

/// Where the scale and the zero point of a step's result come from, unless its StepScheme has a
/// quantizer for it.
ResultRule rule_of(const Step& step, Rounding rounding);

/// Whether a step passes the scale, the zero point and the range of its first input on.
bool passes_on(const Step& step);

/// Whether a layer computes Graph::linear() and nothing else.
bool is_linear_alone(const Layer& layer);

/// Whether the layer looks up a table by what it reads, moved first or not, so that its input are
/// indices, which have no scale.
bool reads_indices(const Layer& layer);

/// Whether each value of the layer's result is one of its input's, whatever that holds.
bool moves_alone(const Layer& layer);

/// Whether the operator clamps integers and does not rescale them: RELU6 in TFLite Micro.
bool only_clamps(OpCode code, Rounding rounding);

/// Whether the step takes the scale and the zero point of its result from a quantizer.
bool measures_result(const Step& step, Rounding rounding);

/// The scale and the zero point of what an operator makes of `inputs`; `measured` are those of its
/// quantizer, where it has one.
QuantParams result_params(OpCode code, std::span<const QuantParams> inputs,
                          const std::optional<QuantParams>& measured, const std::string& owner);

/// Throws InvalidArgument, naming `owner`, unless the quantized values of `params` are those that
/// operators clamp to: all of int8, or, where a ReLU or ReLU6 clamps at the zero point
/// (`clamps_at_zero`), the highest; or all of int16 with the zero point 0.
void require_operator_range(const QuantParams& params, bool clamps_at_zero,
                            const std::string& owner);

}  // namespace octet
