#include <octet/layers/quantize/mean_magnitude.h>

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace octet {

void MeanMagnitudeObserver::observe(const Tensor& x) {
  const std::size_t channels = limits_of(x).size();
  const int axis = spec().axis;
  // How many neighbours belong to one channel.
  std::size_t run = 1;
  for (int i = axis + 1; axis >= 0 && i < x.shape().rank(); ++i) {
    run *= static_cast<std::size_t>(x.dim(i));
  }
  std::vector<double> sums(channels);
  const std::span<const float> values = std::as_const(x).span();
  for (std::size_t i = 0; i < values.size(); ++i) {
    sums[axis < 0 ? 0 : i / run % channels] += std::fabs(double{values[i]});
  }
  const double count = static_cast<double>(values.size()) / static_cast<double>(channels);
  const bool from_zero = !spec().symmetric;
  const int codes_above =
      from_zero ? spec().qmax() - spec().qmin() : (1 << (spec().num_bits - 1)) - 1;
  const int codes_below = from_zero ? 0 : spec().narrow_range ? codes_above : codes_above + 1;
  for (std::size_t c = 0; c < channels; ++c) {
    const double step = 2.0 * sums[c] / count / std::sqrt(static_cast<double>(codes_above));
    mins()[c] = static_cast<float>(-step * codes_below);
    maxs()[c] = static_cast<float>(step * codes_above);
  }
  set_updates(1.0F);
}

std::unique_ptr<Observer> MeanMagnitudeObserver::clone() const {
  return std::make_unique<MeanMagnitudeObserver>(*this);
}

MeanMagnitudeQuantizer::MeanMagnitudeQuantizer(QuantSpec spec)
    : Quantizer(spec, std::make_unique<MeanMagnitudeObserver>()) {}

std::unique_ptr<Quantizer> MeanMagnitudeQuantizer::clone() const {
  return std::make_unique<MeanMagnitudeQuantizer>(*this);
}

}  // namespace octet
