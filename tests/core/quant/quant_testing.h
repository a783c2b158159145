#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <octet/tests/core/special_values.h>
#include <octet/tests/core/thrown.h>

namespace octet::test {

inline constexpr float kFltMax = std::numeric_limits<float>::max();
inline constexpr std::int32_t kInt32Min = std::numeric_limits<std::int32_t>::min();
inline constexpr std::int32_t kInt32Max = std::numeric_limits<std::int32_t>::max();

/// Random numbers that are the same on every platform.
class PortableRandom {
 public:
  explicit PortableRandom(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t bits() { return static_cast<std::uint32_t>(engine_()); }
  std::int32_t integer(std::int32_t lo, std::int32_t hi) {
    const auto width = static_cast<std::uint64_t>(std::int64_t{hi} - lo) + 1;
    return static_cast<std::int32_t>(lo + static_cast<std::int64_t>(bits() % width));
  }
  /// Uniform in [lo, hi].
  float real(float lo, float hi) {
    const double unit = bits() / 4294967295.0;
    return static_cast<float>(lo + (static_cast<double>(hi) - lo) * unit);
  }
  /// A positive number of any size: its logarithm is uniform.
  float positive(float lo, float hi) { return std::exp(real(std::log(lo), std::log(hi))); }
  std::vector<float> reals(std::size_t size, float lo, float hi) {
    std::vector<float> result(size);
    for (float& x : result) {
      x = real(lo, hi);
    }
    return result;
  }

 private:
  std::mt19937 engine_;
};

/// Compares bit by bit, except that all NaN are equal.
inline bool same_bits(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

}  // namespace octet::test
