#pragma once

#include <octet/report/report.h>

#include <optional>
#include <string>
#include <vector>

// What to do about what a report found: rules, each a function of its numbers, which name their
// evidence.

namespace octet {

/// One piece of advice.
struct Advice {
  /// The rule's name, and the layer that it is about; "" for the whole network.
  std::string rule{};
  std::string layer{};
  std::string evidence{};
  /// A line of code, or the options of a command.
  std::string action{};
  /// What happens then.
  std::string promise{};
  /// The accuracy that the remedy brought, in percentage points; none where it was not tried.
  std::optional<double> gain{};

  bool operator==(const Advice&) const = default;
};

/// The p of a paired test below which a difference is more than chance.
inline constexpr double kSignificance = 0.05;

/// The positions of the outcomes of the integers that ship: the last of each output.
std::vector<std::size_t> shipped_outcomes(const std::vector<Outcome>& all);

/// Whether the integers are worse than float at an output by the paired test, p below 0.05. Only
/// then is there accuracy to bring back, and remedies are tried.
bool loses_significantly(const Report& report);

/// The remedies that were tried and that the paired test says are better than the network quantized
/// without, p below 0.05: of several for one ill the best.
std::vector<Advice> advise_tried_remedies(const Report& report);
/// The integers are significantly worse, and no remedy was found or training has made them so.
std::vector<Advice> advise_training(const Report& report);
/// The integers are significantly worse, 2 % or more of a kernel's weights oscillate between
/// quantized values, and the rate did not fall in the last two epochs.
std::vector<Advice> advise_oscillation(const Report& report);
/// Channels of a layer with a kernel have one value in float throughout, and kernels alone read
/// them.
std::vector<Advice> advise_dead_channels(const Report& report);
/// No output of the integers depends on some units of a layer, whatever the input is.
std::vector<Advice> advise_constant_units(const Report& report);

/// The advice of all rules, the largest gain first, in the order of the rules where that is equal.
std::vector<Advice> advice(const Report& report);

}  // namespace octet
