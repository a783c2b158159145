#pragma once

#include <octet/core/random.h>
#include <octet/tests/core/kernels/kernel_testing.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

// Shared by the tests of Passes.

namespace octet::test {

// Not a multiple of any vector's width.
inline constexpr std::size_t kSizes[] = {1, 7, 16, 33, 100, 259};

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

inline std::vector<float> values(std::size_t count, std::uint64_t seed) {
  std::vector<float> result(count);
  Random(seed).fill_uniform(result, -3.0F, 3.0F);
  return result;
}

/// Random values with difficult ones among them: ties, ends, NaN, infinities.
inline std::vector<float> awkward(std::size_t count, float step) {
  std::vector<float> result = values(count, 9);
  const std::vector<float> corners = {0.5F * step, -0.5F * step, 1.5F * step, -2.5F * step, 1e30F,
                                      -kInfinity,  kInfinity,    NAN,         -0.0F};
  for (std::size_t i = 0; i < count; i += 3) result[i] = corners[i / 3 % corners.size()];
  return result;
}

/// Compares element by element, with NaN equal to NaN and -0 different from 0.
template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Tests of the loops of one code path.
class PathPassesTest : public KernelTest {
 protected:
  const Passes& passes() const { return GetParam()->passes; }
};

}  // namespace octet::test
