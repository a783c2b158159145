#pragma once

#include <octet/core/quant/rounding.h>
#include <octet/layers/program/program.h>

#include <vector>

namespace octet {

/// Tells by value which ones BATCH_MATMUL reads as its second operand, also behind operators that
/// keep scale and zero point. LiteRT's kernels of contract fp32 take them with zero point 0 only.
/// `result_is_read`: whether what reads the result of the last step does so, too.
std::vector<bool> second_factors(const Program& program, Rounding rounding,
                                 bool result_is_read = false);

/// Tells by value which ones SQRT or RSQRT reads, also behind operators that keep scale and zero
/// point: their zero point has to be the lowest value.
std::vector<bool> radicands(const Program& program, Rounding rounding);

}  // namespace octet
