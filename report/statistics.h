#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

// The statistics that a report states, each as a function of counts.

namespace octet {

/// The quantile of the normal distribution that leaves 2.5 % on either side.
inline constexpr double kNormalQuantile = 1.959963984540054;

/// A share of `total` with the limits between which the true one lies with a probability of 95 %.
struct Proportion {
  std::uint64_t count = 0;
  std::uint64_t total = 0;
  double low = 0.0;
  double high = 1.0;

  /// count / total; 0 of none.
  double share() const;
  bool operator==(const Proportion&) const = default;
};

/// Wilson's score interval (E. B. Wilson, JASA 1927), z = 1.959964:
///
///     (p + z^2 / 2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)
///
/// From 0 to 1 of none. Throws InvalidArgument for a count above the total.
Proportion wilson_interval(std::uint64_t count, std::uint64_t total);

/// Two classifiers on the same examples: those that one alone has right.
struct PairedTest {
  std::uint64_t only_first_right = 0;
  std::uint64_t only_second_right = 0;
  /// McNemar's p: how likely a split at least as uneven is where both are equally good.
  double p = 1.0;

  bool operator==(const PairedTest&) const = default;
};

/// McNemar's test, exact and two-sided: with n examples that one alone has right and k the smaller
/// part of them, p = min(1, 2 sum over i <= k of C(n, i) / 2^n).
PairedTest mcnemar_test(std::uint64_t only_first_right, std::uint64_t only_second_right);

/// McNemar's test from predictions. Throws InvalidArgument where the three are not equally long.
PairedTest mcnemar_test(std::span<const std::int32_t> first, std::span<const std::int32_t> second,
                        std::span<const std::int32_t> labels);

/// The ratio of a signal and what quantization made of it, summed up value by value, in order.
class NoiseSums {
 public:
  void add(double exact, double quantized) {
    signal_ += exact * exact;
    noise_ += (exact - quantized) * (exact - quantized);
  }
  /// 10 log10(sum exact^2 / sum (exact - quantized)^2) in dB; infinite without noise, none without
  /// a signal.
  std::optional<double> sqnr_db() const;

 private:
  double signal_ = 0.0;
  double noise_ = 0.0;
};

/// The median, of an even number the mean of the two in the middle; 0 of none.
double median(std::span<const double> values);

}  // namespace octet
