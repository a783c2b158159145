#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/report/statistics.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace octet {

double Proportion::share() const {
  return total == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(total);
}

Proportion wilson_interval(std::uint64_t count, std::uint64_t total) {
  if (count > total) {
    throw InvalidArgument(
        fmt::format("wilson_interval: expected a count of at most {}, found {}", total, count));
  }
  Proportion result{.count = count, .total = total};
  if (total == 0) return result;
  const auto n = static_cast<double>(total);
  const double p = result.share();
  const double square = kNormalQuantile * kNormalQuantile;
  const double middle = p + square / (2.0 * n);
  const double reach = kNormalQuantile * std::sqrt(p * (1.0 - p) / n + square / (4.0 * n * n));
  const double scale = 1.0 + square / n;
  // At the ends the formula gives 0 and 1 but for rounding.
  result.low = count == 0 ? 0.0 : std::max(0.0, (middle - reach) / scale);
  result.high = count == total ? 1.0 : std::min(1.0, (middle + reach) / scale);
  return result;
}

PairedTest mcnemar_test(std::uint64_t only_first_right, std::uint64_t only_second_right) {
  const auto n = static_cast<double>(only_first_right + only_second_right);
  const std::uint64_t least = std::min(only_first_right, only_second_right);
  // In logarithms: 2^-n is 0 in double from n = 1075 on.
  double log_term = -n * std::log(2.0);
  double sum = std::exp(log_term);
  for (std::uint64_t i = 0; i < least; ++i) {
    const auto k = static_cast<double>(i);
    log_term += std::log((n - k) / (k + 1.0));
    sum += std::exp(log_term);
  }
  return {only_first_right, only_second_right, std::min(1.0, 2.0 * sum)};
}

PairedTest mcnemar_test(std::span<const std::int32_t> first, std::span<const std::int32_t> second,
                        std::span<const std::int32_t> labels) {
  if (first.size() != labels.size() || second.size() != labels.size()) {
    throw InvalidArgument(
        fmt::format("mcnemar_test: expected predictions for {} labels, found {} and {}",
                    labels.size(), first.size(), second.size()));
  }
  std::uint64_t only_first = 0;
  std::uint64_t only_second = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const bool a = first[i] == labels[i];
    const bool b = second[i] == labels[i];
    only_first += a && !b ? 1U : 0U;
    only_second += b && !a ? 1U : 0U;
  }
  return mcnemar_test(only_first, only_second);
}

std::optional<double> NoiseSums::sqnr_db() const {
  if (!(signal_ > 0.0)) return std::nullopt;
  if (noise_ == 0.0) return std::numeric_limits<double>::infinity();
  return 10.0 * std::log10(signal_ / noise_);
}

double median(std::span<const double> values) {
  if (values.empty()) return 0.0;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2.0;
}

}  // namespace octet
