#pragma once

#include <benchmark/benchmark.h>
#include <octet/bench/peak.h>

#include <cstddef>
#include <vector>

namespace octet::bench {

/// Repeatable values in [-1, 1).
inline std::vector<float> floats(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(i * 7919 % 1000) / 500.0F - 1.0F;
  }
  return values;
}

/// States the floor: the seconds that one iteration takes at least, and their share of what it
/// took.
inline void count_floor(benchmark::State& state, double seconds) {
  if (seconds <= 0.0) return;
  state.counters["floor_share"] = benchmark::Counter(
      seconds * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

/// States operations a second, and which share of `peak` (of one core) that is.
inline void count_operations(benchmark::State& state, double each, double peak) {
  state.counters["op/s"] = benchmark::Counter(each * static_cast<double>(state.iterations()),
                                              benchmark::Counter::kIsRate);
  if (peak > 0.0) count_floor(state, each / peak);
}

/// States bytes a second, read and written, and which share of copying in the second-level cache
/// that is.
inline void count_bytes(benchmark::State& state, double each) {
  state.counters["byte/s"] = benchmark::Counter(each * static_cast<double>(state.iterations()),
                                                benchmark::Counter::kIsRate);
  count_floor(state, each / (2.0 * peak().copied_bytes_per_second));
}

}  // namespace octet::bench
