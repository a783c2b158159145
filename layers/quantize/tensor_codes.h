#pragma once

#include <octet/core/ops/code_tensor.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/quant/round.h>
#include <octet/core/tensor.h>
#include <octet/layers/quantize/scale_rule.h>

#include <cstdint>
#include <memory>
#include <span>

namespace octet {

/// The elements of a tensor as codes, row-major.
using TensorCodes = std::shared_ptr<const std::int8_t[]>;

/// clamp(round(x / scale) + zero_point) on the per-tensor grid `grid`.
TensorCodes quantize_tensor(const Tensor& x, const QuantParams& grid,
                            RoundMode mode = RoundMode::half_away);

/// The codes of x on the grid that it lies on: those it carries, or made anew.
TensorCodes codes_on_grid(const Tensor& x, const QuantParams& grid);

/// Returns the int16 values of x on `grid`. A tensor keeps none: its floats, each an int16 times
/// the scale rounded once, tell them exactly.
std::shared_ptr<const std::int16_t[]> int16_codes(const Tensor& x, const QuantParams& grid,
                                                  RoundMode mode = RoundMode::half_away);
/// A tensor of the real values of codes on the per-tensor grid `grid`.
Tensor tensor_of_int16(const Shape& shape, std::shared_ptr<const QuantParams> grid,
                       std::span<const std::int16_t> codes);

/// dequantize(quantize(x)), the result carrying `grid`, which is per tensor. The gradient passes
/// where x lies between the reals of qmin and qmax, and reaches what the grid is learned from.
Tensor put_on_grid(const Tensor& x, std::shared_ptr<const QuantParams> grid,
                   RoundMode mode = RoundMode::half_away, const LearnedRange& learned = {});

}  // namespace octet
