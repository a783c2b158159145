#include <fmt/core.h>
#include <octet/train/run/time_left.h>

#include <cmath>

namespace octet {

std::optional<double> TimeLeft::take(double done, double left, double now) {
  if (!from_) from_ = Place{done, now};
  const double epochs = done - from_->done;
  if (epochs <= 0) return std::nullopt;
  return left * (now - from_->now) / epochs;
}

namespace detail {

std::string duration_text(double seconds) {
  // Two digits are as much as an estimate is worth.
  constexpr double kUnits = 100;
  constexpr long long kMinutes = 60;
  if (seconds < kUnits - 0.5) return fmt::format("{:.0f} s", seconds);
  const long long minutes = std::llround(seconds / 60);
  if (minutes < 100) return fmt::format("{} min", minutes);
  return fmt::format("{} h {} min", minutes / kMinutes, minutes % kMinutes);
}

}  // namespace detail

}  // namespace octet
