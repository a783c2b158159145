#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/quant/axis.h>
#include <octet/layers/quantize/observers.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace octet {
namespace {

constexpr float kTfmotLimit = 6.0F;

}  // namespace

std::string_view to_string(RangeStart start) {
  switch (start) {
    case RangeStart::first_batch:
      return "first_batch";
    case RangeStart::tfmot:
      return "tfmot";
  }
  throw InvalidArgument("to_string: a RangeStart outside the enumeration");
}

RangeStart parse_range_start(std::string_view name) {
  for (const RangeStart start : {RangeStart::first_batch, RangeStart::tfmot}) {
    if (name == to_string(start)) return start;
  }
  throw FormatError(
      fmt::format("range start: expected \"first_batch\" or \"tfmot\", found \"{}\"", name));
}

StartedObserver::StartedObserver(RangeStart start, float limit)
    : Observer(start == RangeStart::tfmot ? 0.0F - limit : 0.0F,
               start == RangeStart::tfmot ? limit : 0.0F, start == RangeStart::tfmot),
      start_(start) {}

void StartedObserver::describe(Description& description) const {
  description.set("start", to_string(start_));
}

LastValueObserver::LastValueObserver(RangeStart start) : StartedObserver(start, kTfmotLimit) {}

void LastValueObserver::observe(const Tensor& x) {
  const auto limits = limits_of(x);
  for (std::size_t c = 0; c < limits.size(); ++c) {
    const Range range = widened(limits[c]);
    mins()[c] = range.min;
    maxs()[c] = range.max;
  }
  set_updates(1.0F);
}

MovingAverageObserver::MovingAverageObserver(RangeStart start, double decay)
    : StartedObserver(start, kTfmotLimit), decay_(decay) {
  if (!(decay >= 0.0 && decay < 1.0)) {
    throw InvalidArgument(
        fmt::format("MovingAverageQuantizer: expected a decay in [0, 1), found {}", decay));
  }
}

void MovingAverageObserver::observe(const Tensor& x) {
  const auto limits = limits_of(x);
  double weight = 1.0 - decay_;
  if (start() == RangeStart::first_batch) {
    weight /= 1.0 - std::pow(decay_, static_cast<double>(updates()) + 1.0);
  }
  const auto w = static_cast<float>(weight);
  const auto move = [w](float& bound, float target) { bound = bound - (bound - target) * w; };
  for (std::size_t c = 0; c < limits.size(); ++c) {
    const Range range = widened(limits[c]);
    move(mins()[c], range.min);
    move(maxs()[c], range.max);
  }
  set_updates(updates() + 1.0F);
}

void MovingAverageObserver::describe(Description& description) const {
  StartedObserver::describe(description);
  description.set("decay", decay_);
}

AllValuesObserver::AllValuesObserver(RangeStart start) : StartedObserver(start, 0.0F) {}

void AllValuesObserver::observe(const Tensor& x) {
  const auto limits = limits_of(x);
  for (std::size_t c = 0; c < limits.size(); ++c) {
    auto [low, high] = limits[c];
    if (spec().symmetric) {
      // TFMOT makes the bounds symmetric one after the other: the second sees the new first.
      low = widened({low, high}).min;
      high = widened({low, high}).max;
    }
    mins()[c] = std::min({mins()[c], low, 0.0F});
    maxs()[c] = std::max({maxs()[c], high, 0.0F});
  }
  set_updates(updates() + 1.0F);
}

FixedObserver::FixedObserver(float min, float max)
    : Observer(min, max, true), min_(min), max_(max) {
  if (!(min < max)) {
    throw InvalidArgument(
        fmt::format("FixedQuantizer: expected min < max, found {} and {}", min, max));
  }
}

void FixedObserver::observe(const Tensor& x) { static_cast<void>(limits_of(x)); }

void FixedObserver::describe(Description& description) const {
  description.set("min", double{min_}).set("max", double{max_});
}

void MeanMagnitudeObserver::observe(const Tensor& x) {
  const std::size_t channels = limits_of(x).size();
  const int axis = spec().axis;
  std::vector<double> sums(channels);
  const std::span<const float> values = x.span();
  // How many neighbours belong to one channel.
  const std::size_t run =
      axis < 0 ? 1 : split_axis(x.shape().dims(), axis, values.size(), owner()).inner;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sums[axis < 0 ? 0 : i / run % channels] += std::fabs(double{values[i]});
  }
  const double count = static_cast<double>(values.size()) / static_cast<double>(channels);
  const bool from_zero = !spec().symmetric;
  const int steps_above =
      from_zero ? spec().qmax() - spec().qmin() : (1 << (spec().num_bits - 1)) - 1;
  const int steps_below = from_zero ? 0 : spec().narrow_range ? steps_above : steps_above + 1;
  for (std::size_t c = 0; c < channels; ++c) {
    const double step = 2.0 * sums[c] / count / std::sqrt(static_cast<double>(steps_above));
    mins()[c] = static_cast<float>(-step * steps_below);
    maxs()[c] = static_cast<float>(step * steps_above);
  }
  set_updates(1.0F);
}

}  // namespace octet
