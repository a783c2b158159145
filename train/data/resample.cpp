#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/data/resample.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>

namespace octet {
namespace {

constexpr double kCrossings = 32.0;
constexpr double kPassed = 0.9;
constexpr double kMostValue = std::numeric_limits<float>::max();
constexpr double kMostCoefficients = 1 << 22;

/// h of the class's formula, of v = c u.
double windowed_sinc(double v) {
  if (std::abs(v) >= kCrossings) return 0.0;
  const double pi = std::numbers::pi;
  const double place = pi * v / kCrossings;
  const double window = 0.42 + 0.5 * std::cos(place) + 0.08 * std::cos(2.0 * place);
  return v == 0.0 ? window : std::sin(pi * v) / (pi * v) * window;
}

}  // namespace

Resampler::Resampler(int from, int to) {
  if (from < 1 || to < 1) {
    throw InvalidArgument(fmt::format(
        "Resampler: expected rates of at least 1 sample a second, found {} and {}", from, to));
  }
  const int divisor = std::gcd(from, to);
  up_ = static_cast<std::size_t>(to / divisor);
  down_ = static_cast<std::size_t>(from / divisor);
  const auto up = static_cast<double>(up_);
  const double cutoff = kPassed * std::min(1.0, up / static_cast<double>(down_));
  const double reach = std::ceil(kCrossings / cutoff);
  if (2.0 * reach * up > kMostCoefficients) {
    throw InvalidArgument(fmt::format(
        "Resampler: expected rates of a simple ratio, found {} and {} samples a second, which is "
        "{} / {} and takes {:.0f} coefficients; the most are {:.0f}",
        from, to, up_, down_, 2.0 * reach * up, kMostCoefficients));
  }
  reach_ = static_cast<std::size_t>(reach);
  coefficients_.reserve(2 * reach_ * up_);
  std::vector<double> phase(2 * reach_);
  for (std::size_t p = 0; p < up_; ++p) {
    double sum = 0.0;
    for (std::size_t j = 0; j < phase.size(); ++j) {
      const double distance = static_cast<double>(p) / up + (reach - 1.0) - static_cast<double>(j);
      phase[j] = windowed_sinc(cutoff * distance);
      sum += phase[j];
    }
    for (const double value : phase) coefficients_.push_back(static_cast<float>(value / sum));
  }
}

std::size_t Resampler::samples(std::size_t input) const {
  return input / down_ * up_ + (input % down_ * up_ + down_ - 1) / down_;
}

std::size_t Resampler::needed(std::size_t output) const {
  if (output == 0) return 0;
  const std::size_t last = output - 1;
  return last / up_ * down_ + last % up_ * down_ / up_ + reach_ + 1;
}

std::vector<float> Resampler::resample(std::span<const float> signal, std::size_t channels) const {
  if (channels == 0 || signal.size() % channels != 0) {
    throw InvalidArgument(fmt::format("Resampler: expected samples of {} channels, found {} values",
                                      channels, signal.size()));
  }
  const std::size_t count = signal.size() / channels;
  std::vector<float> result(samples(count) * channels);
  // The place of a result is sample `at` and `phase` parts of up_ behind it.
  std::size_t at = 0;
  std::size_t phase = 0;
  for (std::size_t n = 0; n < result.size(); n += channels) {
    // Before the signal and behind it is silence.
    const std::size_t begin = at + 1 < reach_ ? 0 : at + 1 - reach_;
    const std::size_t end = std::min(count, at + reach_ + 1);
    const float* row = coefficients_.data() + phase * 2 * reach_ + (begin + reach_ - 1 - at);
    for (std::size_t channel = 0; channel < channels; ++channel) {
      double sum = 0.0;
      for (std::size_t k = begin; k < end; ++k) {
        sum += static_cast<double>(row[k - begin]) *
               static_cast<double>(signal[k * channels + channel]);
      }
      result[n + channel] = static_cast<float>(std::clamp(sum, -kMostValue, kMostValue));
    }
    phase += down_;
    at += phase / up_;
    phase %= up_;
  }
  return result;
}

}  // namespace octet
