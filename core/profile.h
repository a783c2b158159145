#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// Where time goes: wall seconds by phase, e.g. "forward dense_1". Phases do not overlap, so that
/// their sum tells how much of the whole they explain.
class Profile {
 public:
  struct Entry {
    std::string name;
    double seconds = 0.0;
    std::uint64_t count = 0;
  };

  void add(std::string_view name, double seconds);
  /// Adds to the time that the phases are parts of.
  void add_whole(double seconds, std::uint64_t steps);

  /// In the order in which they first came.
  const std::vector<Entry>& entries() const { return entries_; }
  double whole_seconds() const { return whole_seconds_; }
  std::uint64_t steps() const { return steps_; }
  /// The phases' share of the whole; 0 without a whole.
  double explained() const;

  /// A table: phase, microseconds a step, share of the whole; last what no phase explains.
  std::string table() const;

 private:
  std::vector<Entry> entries_;
  double whole_seconds_ = 0.0;
  std::uint64_t steps_ = 0;
};

/// While alive, scopes of this thread report to `profile` (null: to none).
class Profiling {
 public:
  explicit Profiling(Profile* profile);
  ~Profiling();
  Profiling(const Profiling&) = delete;
  Profiling& operator=(const Profiling&) = delete;

 private:
  Profile* previous_;
};

/// The part of a phase that an op on the tape will cause later is told by its name: that of the
/// innermost scope's detail. Empty where nobody measures.
std::string_view profiled_detail();

/// Measures its own life as the phase "<phase> <detail>". Costs one comparison where nobody asks.
class ProfileScope {
 public:
  explicit ProfileScope(std::string_view phase, std::string_view detail = {});
  ~ProfileScope();
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  Profile* profile_;
  std::string_view phase_;
  std::string_view detail_;
  std::string_view outer_detail_;
  Clock::time_point begin_;
};

}  // namespace octet
