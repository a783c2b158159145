#pragma once

#include <octet/core/function_ref.h>
#include <octet/deploy/c/operators.h>
#include <octet/runtime/operators/fully_connected.h>

#include <string>

namespace octet::detail {

/// FULLY_CONNECTED, or a convolution that is one.
CLayer make_fully_connected_layer(const CPlan& plan, const CStep& step,
                                  const FullyConnectedNumbers& numbers);

/// An operator that makes sums of products with constant weights and rescales them: its constants,
/// and a function around `loop`, whose text has the fillings of the layer, @units@, @depth@, @lo@,
/// @hi@, @bias@, @weight@, @multiplier@ and @shift@ of `unit`.
CLayer make_sums_layer(const CPlan& plan, const CStep& step, const FullyConnectedNumbers& numbers,
                       const std::string& detail, FunctionRef<std::string(Fillings fillings)> loop);

}  // namespace octet::detail
