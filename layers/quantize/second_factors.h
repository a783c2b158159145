#pragma once

#include <octet/core/quant/rounding.h>
#include <octet/layers/program/program.h>

#include <vector>

namespace octet {

/// Tells by value which ones BATCH_MATMUL reads as its second operand, also behind operators that
/// keep scale and zero point. LiteRT's kernels of contract fp32 take them with zero point 0 only.
std::vector<bool> second_factors(const Program& program, Rounding rounding);

}  // namespace octet
