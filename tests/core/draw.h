#pragma once

#include <octet/core/random.h>

#include <cstdint>
#include <type_traits>

namespace octet::test {

/// Numbers in a row from the counter-based generator.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  /// A whole number in [lo, hi].
  template <class Lo, class Hi>
  std::common_type_t<Lo, Hi> between(Lo lo, Hi hi) {
    using T = std::common_type_t<Lo, Hi>;
    const T width = T{hi} - T{lo} + 1;
    return static_cast<T>(
        lo + static_cast<T>(random_.below(next_++, static_cast<std::uint32_t>(width))));
  }
  /// A real number in [lo, hi).
  float uniform(float lo, float hi) { return lo + (hi - lo) * random_.uniform(next_++); }

 private:
  Random random_;
  std::uint64_t next_ = 0;
};

}  // namespace octet::test
