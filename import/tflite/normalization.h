#pragma once

#include <octet/import/tflite/operator_layers.h>

#include <map>

// Layer normalization, which .tflite files spell out in operators.

namespace octet::detail {

/// By the operator that gives the result: the layers of the operators that are a layer
/// normalization as Keras spells it out,
///
///     k = rsqrt(mean((x - mean(x))^2) + epsilon) gamma,  y = x k + (beta - mean(x) k)
///
/// where the means are sums over weights 1 / n, as from_tflite() reads them.
std::map<std::size_t, OperatorLayers> normalizations_of(const IntegerModel& model);

}  // namespace octet::detail
