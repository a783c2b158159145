#pragma once

#include <benchmark/benchmark.h>
#include <octet/bench/peak.h>

namespace octet::bench {

/// States operations a second, and which share of `peak` (of one core) that is.
inline void count_operations(benchmark::State& state, double each, double peak) {
  const double total = each * static_cast<double>(state.iterations());
  state.counters["op/s"] = benchmark::Counter(total, benchmark::Counter::kIsRate);
  if (peak > 0.0) {
    state.counters["of_peak"] = benchmark::Counter(total / peak, benchmark::Counter::kIsRate);
  }
}

/// States bytes a second, read and written, and which share of copying in the second-level cache
/// that is.
inline void count_bytes(benchmark::State& state, double each) {
  const double total = each * static_cast<double>(state.iterations());
  state.counters["byte/s"] = benchmark::Counter(total, benchmark::Counter::kIsRate);
  state.counters["of_copy"] = benchmark::Counter(total / (2.0 * peak().copied_bytes_per_second),
                                                 benchmark::Counter::kIsRate);
}

}  // namespace octet::bench
