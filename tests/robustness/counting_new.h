#pragma once

#include <cstddef>
#include <functional>

// This binary's operator new counts, and fails when it is told to.

namespace octet::test {

/// Allocations that have not been given back.
long live_allocations();

/// Bytes that live allocations hold, and the most that they have held since reset_peak().
std::size_t live_bytes();
std::size_t peak_bytes();
void reset_peak();

/// The most that `body` holds at once, beyond what was there before.
inline std::size_t peak_of(const std::function<void()>& body) {
  const std::size_t before = live_bytes();
  reset_peak();
  body();
  return peak_bytes() - before;
}

/// While it lives, the `number`-th allocation from here throws std::bad_alloc (the first is 1), and
/// only that one.
class FailAllocation {
 public:
  explicit FailAllocation(long number);
  ~FailAllocation();
  FailAllocation(const FailAllocation&) = delete;
  FailAllocation& operator=(const FailAllocation&) = delete;

  /// Whether there were that many.
  bool happened() const;
};

}  // namespace octet::test
