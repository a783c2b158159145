#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace octet {

/// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy
/// as 1, 2, 3", SC 2011). The i-th number of a stream is a pure function of (seed, stream, i), so
/// it does not depend on how many threads draw or in which order.
class Random {
 public:
  explicit Random(std::uint64_t seed = 0, std::uint64_t stream = 0)
      : seed_(seed), stream_(stream) {}

  std::uint64_t seed() const { return seed_; }

  /// An independent stream of the same seed, named by a number (a layer, an epoch, a step).
  Random fork(std::uint64_t key) const;

  /// Four uniform 32-bit words for block `counter`.
  std::array<std::uint32_t, 4> block(std::uint64_t counter) const;

  /// The i-th 32-bit word of the stream.
  std::uint32_t bits(std::uint64_t i) const { return block(i / 4)[i % 4]; }

  /// The i-th uniform float in [0, 1), a multiple of 2^-24.
  float uniform(std::uint64_t i) const;
  /// Writes the uniform floats from number `first` on, faster than one by one.
  void uniforms(std::uint64_t first, std::span<float> out) const;

  /// The i-th number of the standard normal distribution (Box-Muller).
  float normal(std::uint64_t i) const;

  /// The i-th integer of [0, bound), unbiased to 2^-32; bound > 0.
  std::uint32_t below(std::uint64_t i, std::uint32_t bound) const;

  /// out[i] = lo + (hi - lo) * uniform(i).
  void fill_uniform(std::span<float> out, float lo, float hi) const;

  /// out[i] = mean + stddev * normal(i).
  void fill_normal(std::span<float> out, float mean, float stddev) const;

  /// A random order of 0 .. count-1 (Fisher-Yates); count < 2^32.
  std::vector<std::uint32_t> permutation(std::size_t count) const;

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
};

}  // namespace octet
