#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace octet {

/// Brings signals from one sample rate to another, L / M of it in lowest terms, with a windowed
/// sinc, of which a table holds the L phases that occur. Of a signal x[0..N) sample n becomes
///
///     y[n] = sum_k x[k] h(n M / L - k) / sum_k h(n M / L - k),  0 <= n < ceil(N L / M)
///     h(u) = sinc(c u) w(c u / 32) where |c u| < 32, else 0;  c = 0.9 min(1, L / M)
///     sinc(v) = sin(pi v) / (pi v);  w(v) = 0.42 + 0.5 cos(pi v) + 0.08 cos(2 pi v)
///
/// over all whole k, with silence before and after the signal: a constant stays one but for the
/// ends. Frequencies up to 0.8 times half the lower rate change by less than 0.1 %, and of those
/// above half of it less than 0.1 % is left. Coefficients are floats and sums doubles, each in the
/// order of k: the same on any number of threads.
class Resampler {
 public:
  /// Throws InvalidArgument for a rate below 1, and for rates whose table would have more than 2^22
  /// coefficients, of which there are 2 L ceil(32 / c).
  Resampler(int from, int to);

  /// How many samples a signal of so many becomes.
  std::size_t samples(std::size_t input) const;
  /// How many of a signal's first samples decide the first `output` ones of the result; 0 for none.
  std::size_t needed(std::size_t output) const;
  /// Resamples a signal [samples, channels], each channel for itself. Throws InvalidArgument for a
  /// part of a sample.
  std::vector<float> resample(std::span<const float> signal, std::size_t channels) const;

 private:
  std::size_t up_ = 1;
  std::size_t down_ = 1;
  /// Coefficients of a phase: those of the samples from k - reach_ + 1 to k + reach_, where k is
  /// the sample at or before the place.
  std::size_t reach_ = 0;
  std::vector<float> coefficients_;
};

}  // namespace octet
