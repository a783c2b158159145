#pragma once

#include <octet/core/function_ref.h>
#include <octet/deploy/c/operators.h>
#include <octet/runtime/operators/fully_connected.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace octet::detail {

/// An operator that makes sums of products with constant weights and rescales them.
struct CSums {
  const FullyConnectedNumbers& numbers;
  std::string detail;
  /// Whether a unit makes one sum, which reads each of its weights once, from the first on.
  bool reads_once = false;
  /// The weights [depth, units], where packed rows are to hold those of a tap; empty: of a unit.
  std::span<const std::int8_t> by_tap{};
  /// Groups of units that read channels of their own, where the units of a group share them.
  std::int64_t groups = 1;
};

/// The largest sum that kernels can make.
std::int64_t c_most_sum(const FullyConnectedNumbers& numbers);

/// The kernel that can make the sums: `kernel`, or none where weights are packed or have a zero
/// point, or where sums come close to the end of 32 bits. The layer then has loops of its own.
std::optional<CKernel> c_kernel_of(const CPlan& plan, const CSums& sums, CKernel kernel);

/// Describes the sums of a layer for its summary: `detail`, and what its weights take where others
/// may be packed.
std::string sums_detail(const CPlan& plan, const CLayer& layer, const std::string& detail);

/// Adds the constants of sums that `kernel` makes to a layer, under names that begin with `name`.
/// Returns the initializer of their structure, @name@_sums.
std::string add_kernel_sums(CLayer& layer, const std::string& name, const CSums& sums,
                            CKernel kernel);

/// The rows of products that a step makes, as a C expression.
std::string c_rows(const CStep& step, const FullyConnectedNumbers& numbers);

/// Makes the constants of a layer of sums, and a function that calls a kernel with them. `window`
/// holds the numbers of the window that slides over its input.
CLayer make_kernel_layer(const CPlan& plan, const CStep& step, const CSums& sums, CKernel kernel,
                         std::span<const Index> window = {});

/// Makes the constants of a layer of sums, and a function around `loop`, whose text has the
/// placeholders of the layer, @units@, @depth@, @lo@, @hi@, and of `unit` @bias@, @multiplier@ and
/// @shift@; @weights@, which declares its `weights`, @weight@, number i of them, and what is taken
/// off each, @less_zero_point@. Where `units_outside`, the loop over units is to be the outer one:
/// a unit's weights are then unpacked once.
CLayer make_sums_layer(const CPlan& plan, const CStep& step, const CSums& sums,
                       FunctionRef<std::string(Fillings fillings, bool units_outside)> loop);

}  // namespace octet::detail
