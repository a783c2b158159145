#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

namespace octet::bench {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds of one call, warm.
struct Timing {
  double median;
  double best;
};

/// Calls `run` in samples of some milliseconds each, timed by `clock` in seconds.
template <class Run, class Clock = double (*)()>
Timing time_calls(Run run, Clock clock = now) {
  constexpr double kSampleSeconds = 0.01;
  run();
  run();
  const double begin = now();
  run();
  const int calls = std::max(1, static_cast<int>(kSampleSeconds / std::max(now() - begin, 1e-9)));
  std::array<double, 25> seconds;
  for (double& sample : seconds) {
    const double start = clock();
    for (int i = 0; i < calls; ++i) run();
    sample = (clock() - start) / calls;
  }
  std::ranges::sort(seconds);
  return {seconds[seconds.size() / 2], seconds.front()};
}

/// Seconds per epoch: the middle one of those after the first, which warms up.
template <class Seconds>
double median_epoch(Seconds seconds) {
  if (seconds.size() > 1) seconds.erase(seconds.begin());
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

}  // namespace octet::bench
