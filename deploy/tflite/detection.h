#pragma once

#include <octet/deploy/tflite/expand.h>

namespace octet::detail {

/// Gives the results of a TFLite_Detection_PostProcess their shapes, which files leave to the
/// runtime, and floats in place of operands of integers: behind a DEQUANTIZE, or constants. Adds
/// those constants' tensors, which nothing may read any more, to `replaced`. Other operators are
/// left as they are. Operands that do not exist are left to the operator's rules.
void complete_detection(Operator& op, Draft draft, std::vector<std::int32_t>& replaced);

}  // namespace octet::detail
