#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <utility>

namespace octet {

/// The learning rate at a step, counted from 0 over all epochs. A pure function of the step, so
/// that a resumed run goes on with the same rates.
using Schedule = std::function<float(std::uint64_t step)>;

/// `rate` at every step.
Schedule constant_rate(float rate);

/// rate * factor^floor(step / every).
Schedule step_decay(float rate, float factor, std::uint64_t every);

/// rate * decay^(step / every), continuous.
Schedule exponential_decay(float rate, float decay, std::uint64_t every);

/// From `rate` down to `last` along half a cosine over `steps`, then `last` (Loshchilov and
/// Hutter, ICLR 2017).
Schedule cosine_decay(float rate, std::uint64_t steps, float last = 0.0F);

/// Grows linearly to `then`'s first rate over `steps`, then follows it from its step 0.
Schedule warmup(std::uint64_t steps, Schedule then);

/// The learning rate of an optimizer: a number, or a schedule.
class LearningRate {
 public:
  // NOLINTBEGIN(google-explicit-constructor, hicpp-explicit-conversions): Adam(1e-3F)
  template <std::floating_point Number>
  LearningRate(Number rate) : LearningRate(constant_rate(static_cast<float>(rate))) {}
  template <class Function>
  requires std::convertible_to<Function, Schedule> LearningRate(Function schedule)
      : schedule_(std::move(schedule)) {
    check();
  }
  // NOLINTEND(google-explicit-constructor, hicpp-explicit-conversions)

  float at(std::uint64_t step) const { return schedule_(step); }

 private:
  /// Throws InvalidArgument for an empty function.
  void check() const;

  Schedule schedule_;
};

// All throw InvalidArgument for a rate or factor that is not above 0 and finite (the last rate of a
// cosine may be 0), or a length of 0.

}  // namespace octet
