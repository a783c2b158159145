#pragma once

#include <octet/core/function_ref.h>
#include <octet/deploy/c/operators.h>
#include <octet/runtime/operators/fully_connected.h>

#include <cstdint>
#include <span>
#include <string>

namespace octet::detail {

/// FULLY_CONNECTED, or a convolution that is one.
CLayer make_fully_connected_layer(const CPlan& plan, const CStep& step,
                                  const FullyConnectedNumbers& numbers);

/// An operator that makes sums of products with constant weights and rescales them.
struct CSums {
  const FullyConnectedNumbers& numbers;
  std::string detail;
  /// Whether a unit makes one sum, which reads each of its weights once, from the first on.
  bool reads_once = false;
  /// The weights [depth, units], where packed rows are to hold those of a tap; empty: of a unit.
  std::span<const std::int8_t> by_tap{};
};

/// Makes the constants of a layer of sums, and a function around `loop`, whose text has the
/// placeholders of the layer, @units@, @depth@, @lo@, @hi@, and of `unit` @bias@, @multiplier@ and
/// @shift@; @weights@, which declares its `weights`, and @weight@, number i of them. Where
/// `units_outside`, the loop over units is to be the outer one: a unit's weights are then unpacked
/// once.
CLayer make_sums_layer(const CPlan& plan, const CStep& step, const CSums& sums,
                       FunctionRef<std::string(Fillings fillings, bool units_outside)> loop);

}  // namespace octet::detail
