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
  std::string action{};
  /// What leaving the layer in float brings without training, in percentage points: the most that
  /// can be expected. None where it was not measured.
  std::optional<double> gain{};

  bool operator==(const Advice&) const = default;
};

/// A channel of a kernel with one scale for all has 8 times the median span or more: few codes are
/// left for the others.
std::vector<Advice> advise_wide_channels(const Report& report);
/// 1 % or more of a result's values, or of a kernel's, lie outside their grid.
std::vector<Advice> advise_clipping(const Report& report);
/// Channels of a layer with a kernel gave one and the same code throughout.
std::vector<Advice> advise_dead_channels(const Report& report);
/// A result of 6 bits or more uses less than a quarter of its codes.
std::vector<Advice> advise_unused_codes(const Report& report);
/// 2 % or more of a kernel's weights swing between codes.
std::vector<Advice> advise_oscillation(const Report& report);
/// Quantization costs 0.2 points or more without training, and leaving one layer in float brings
/// 0.2 points and half of them or more.
std::vector<Advice> advise_sensitive_layer(const Report& report);
/// The integers are worse than float by the paired test, p below 0.05.
std::vector<Advice> advise_significant_loss(const Report& report);

/// The advice of all rules, the largest gain first, in the order of the rules where that is equal.
std::vector<Advice> advice(const Report& report);

}  // namespace octet
