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

}  // namespace octet
