#pragma once

#include <octet/core/quant/softmax.h>
#include <octet/runtime/operators/definitions.h>

// SOFTMAX over the last axis: y = exp(beta x) / sum exp(beta x); codes on the scale 1/256 with zero
// point -128.

namespace octet::detail {

/// The arithmetic of an int8 SOFTMAX. Throws FormatError for rows that are too long for it.
SoftmaxInt8 int8_softmax(const KernelSource& source);

}  // namespace octet::detail
