#pragma once

#include <octet/runtime/integer_model.h>

#include <optional>

// SVDF, which no layer is: the layer of that name goes through whole sequences.

namespace octet::detail {

/// `model` with each float SVDF whose activation layers have as the operators that it is made of;
/// none where it has no SVDF:
///
///     seen = FULLY_CONNECTED(x),  window = CONCATENATION(STRIDED_SLICE(state), seen),
///     y = DEPTHWISE_CONV_2D(window)
///
/// where window, the next state, is [filters, memory], and between them RESHAPE and TRANSPOSE.
std::optional<IntegerModel> svdf_spelled_out(const IntegerModel& model);

}  // namespace octet::detail
