#pragma once

#include <octet/core/quant/quant_params.h>
#include <octet/core/quant/round.h>
#include <octet/core/tensor.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/quantize/scale_rule.h>

#include <memory>

namespace octet {

/// Returns clamp(round(x / scale) + zero_point) of every element, row-major, as int8 or int16,
/// whichever holds all quantized values. `params` has one scale.
detail::StoredIntegers quantize_tensor(const Tensor& x, const QuantParams& params,
                                       RoundMode mode = RoundMode::half_away);

/// Returns the integers that x stores, or, where it stores real values, their quantized values.
detail::StoredIntegers integers_of(const Tensor& x, const QuantParams& params);

/// Returns dequantize(quantize(x)), a tensor that stores the integers; `params` has one scale. The
/// gradient passes where x lies between the real values of qmin and qmax, and reaches what the
/// scale is learned from.
Tensor quantize_dequantize(const Tensor& x, std::shared_ptr<const QuantParams> params,
                           RoundMode mode = RoundMode::half_away, const LearnedRange& learned = {});

}  // namespace octet
