#pragma once

#include <optional>
#include <string>

namespace octet {

/// Estimates how long training goes on: as if what is left took as long, epoch by epoch, as what
/// was done since the first call.
class TimeLeft {
 public:
  /// Begins anew, where training was interrupted.
  void reset() { from_.reset(); }

  /// The seconds that `left` more epochs take. `done` is how many epochs were done when `now`
  /// seconds had passed, with the share of the one that goes on. None where nothing was done since
  /// the first call, which the first step and its preparations come before.
  std::optional<double> take(double done, double left, double now);

 private:
  struct Place {
    double done = 0;
    double now = 0;
  };
  std::optional<Place> from_;
};

namespace detail {

/// Seconds as people say them: "42 s", "12 min", "2 h 5 min".
std::string duration_text(double seconds);

}  // namespace detail

}  // namespace octet
