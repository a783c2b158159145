#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// Wall time by phase, e.g. "forward dense_1". Phases do not overlap, so that their sum shows how
/// much of the total they explain.
class Profile {
 public:
  struct Entry {
    std::string name;
    double seconds = 0.0;
    std::uint64_t count = 0;
  };

  void add(std::string_view name, double seconds);
  /// Makes the phase's entry if it is not there: phases stand in the order in which they began.
  void begin(std::string_view name);
  /// Adds to the total time, which the phases are parts of, and to the number of steps.
  void add_whole(double seconds, std::uint64_t steps);

  /// The phases, in the order in which they first began.
  const std::vector<Entry>& entries() const { return entries_; }
  double whole_seconds() const { return whole_seconds_; }
  std::uint64_t steps() const { return steps_; }
  /// The sum of the phases divided by the total time; 0 without a total.
  double explained() const;

  /// Returns a table with name, microseconds per step and share of the total for each phase, then
  /// for the time that no phase explains and for the total.
  std::string table() const;

 private:
  Entry& entry(std::string_view name);

  std::vector<Entry> entries_;
  double whole_seconds_ = 0.0;
  std::uint64_t steps_ = 0;
};

class ProfileScope;

/// While it lives, the scopes of this thread report to `profile` (null: to none).
class Profiling {
 public:
  explicit Profiling(Profile* profile);
  ~Profiling();
  Profiling(const Profiling&) = delete;
  Profiling& operator=(const Profiling&) = delete;

 private:
  Profile* previous_;
  ProfileScope* scope_;
};

/// Label of the innermost scope, empty if this thread is not profiled. Ops store it, so that their
/// backward time is charged to the same layer.
std::string_view profiled_detail();

/// Measures its own lifetime, without that of scopes within it, as the phase "<phase> <detail>", or
/// "<phase> <detail>: <part>". Costs one comparison if this thread is not profiled.
class ProfileScope {
 public:
  explicit ProfileScope(std::string_view phase, std::string_view detail = {},
                        std::string_view part = {});
  ~ProfileScope();
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

  std::string_view phase() const { return phase_; }
  std::string_view detail() const { return detail_; }

 private:
  Profile* profile_;
  std::string_view phase_;
  std::string_view detail_;
  std::string_view part_;
  ProfileScope* outer_ = nullptr;
  double within_ = 0.0;
  double begin_ = 0.0;
};

/// A scope with the phase and the detail of the innermost one of this thread, and a part's name:
/// where the time of a layer goes, e.g. "backward conv2d: kernel gradient". Measures nothing
/// without a scope around it.
class ProfilePart {
 public:
  explicit ProfilePart(std::string_view name);

 private:
  std::optional<ProfileScope> scope_;
};

}  // namespace octet
