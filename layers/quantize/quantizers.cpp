#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/ops/fake_quant.h>
#include <octet/layers/quantize/quantizers.h>

#include <algorithm>
#include <cmath>

namespace octet {
namespace {

constexpr float kTfmotLimit = 6.0F;

float initial(RangeStart start) { return start == RangeStart::tfmot ? kTfmotLimit : 0.0F; }

}  // namespace

LastValueQuantizer::LastValueQuantizer(QuantSpec spec, RangeStart start)
    : Quantizer(spec, -initial(start), initial(start), start == RangeStart::tfmot) {}

float LastValueQuantizer::update(std::span<const float> batch_min,
                                 std::span<const float> batch_max) {
  for (std::size_t c = 0; c < batch_min.size(); ++c) {
    const Range range = wanted_range(batch_min[c], batch_max[c]);
    mins()[c] = range.min;
    maxs()[c] = range.max;
  }
  return 1.0F;
}

std::unique_ptr<Quantizer> LastValueQuantizer::clone() const {
  return std::make_unique<LastValueQuantizer>(*this);
}

MovingAverageQuantizer::MovingAverageQuantizer(QuantSpec spec, RangeStart start, double decay)
    : Quantizer(spec, -initial(start), initial(start), start == RangeStart::tfmot),
      start_(start),
      decay_(decay) {
  if (!(decay >= 0.0 && decay < 1.0)) {
    throw InvalidArgument(
        fmt::format("MovingAverageQuantizer: expected a decay in [0, 1), found {}", decay));
  }
}

float MovingAverageQuantizer::update(std::span<const float> batch_min,
                                     std::span<const float> batch_max) {
  double weight = 1.0 - decay_;
  if (start_ == RangeStart::first_batch) {
    weight /= 1.0 - std::pow(decay_, static_cast<double>(updates()) + 1.0);
  }
  const auto w = static_cast<float>(weight);
  const auto move = [w](float& bound, float target) { bound = bound - (bound - target) * w; };
  for (std::size_t c = 0; c < batch_min.size(); ++c) {
    const Range range = wanted_range(batch_min[c], batch_max[c]);
    move(mins()[c], range.min);
    move(maxs()[c], range.max);
  }
  return updates() + 1.0F;
}

std::unique_ptr<Quantizer> MovingAverageQuantizer::clone() const {
  return std::make_unique<MovingAverageQuantizer>(*this);
}

AllValuesQuantizer::AllValuesQuantizer(QuantSpec spec, RangeStart start)
    : Quantizer(spec, 0.0F, 0.0F, start == RangeStart::tfmot) {}

float AllValuesQuantizer::update(std::span<const float> batch_min,
                                 std::span<const float> batch_max) {
  for (std::size_t c = 0; c < batch_min.size(); ++c) {
    float low = batch_min[c];
    float high = batch_max[c];
    if (spec().symmetric) {
      // TFMOT makes the bounds symmetric one after the other: the second sees the new first.
      low = wanted_range(low, high).min;
      high = wanted_range(low, high).max;
    }
    mins()[c] = std::min({mins()[c], low, 0.0F});
    maxs()[c] = std::max({maxs()[c], high, 0.0F});
  }
  return updates() + 1.0F;
}

std::unique_ptr<Quantizer> AllValuesQuantizer::clone() const {
  return std::make_unique<AllValuesQuantizer>(*this);
}

FixedQuantizer::FixedQuantizer(float min, float max, QuantSpec spec)
    : Quantizer(spec, min, max, true) {
  if (!(min < max)) {
    throw InvalidArgument(
        fmt::format("FixedQuantizer: expected min < max, found {} and {}", min, max));
  }
}

Tensor FixedQuantizer::fake_quant(const Tensor& x) const {
  if (!enabled()) return x;
  require_range();
  return fake_quant_with_min_max_args(x, min().data()[0], max().data()[0], spec().num_bits,
                                      spec().narrow_range, owner());
}

std::unique_ptr<Quantizer> FixedQuantizer::clone() const {
  return std::make_unique<FixedQuantizer>(*this);
}

}  // namespace octet
