#pragma once

#include <octet/core/quant/rounding.h>
#include <octet/layers/layer.h>

namespace octet {

/// Where the scale and the zero point of a layer's result come from when it is quantized by the
/// default scheme.
enum class ResultRule {
  unknown,   ///< the layer has no operators
  measured,  ///< from the range of the result
  fixed,     ///< from the operator: softmax, sigmoid, tanh
  as_input,  ///< from its input: the layer moves, drops or averages values
  clamps,    ///< from its input: the operator clamps integers and does not rescale them
  as_inputs  ///< from its inputs, which share them: a concatenation, a maximum
};

/// The rule of a built layer, by the operators that it emits: that of the last one that does not
/// take its input's. A ReLU6 clamps under Rounding::double_rounding, since the RELU6 of TFLite
/// Micro does not rescale; a layer with weights is measured in front of a softmax, sigmoid or tanh.
ResultRule result_rule(const Layer& layer, Rounding rounding);

}  // namespace octet
