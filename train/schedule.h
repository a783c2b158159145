#pragma once

#include <cstdint>
#include <functional>

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

// All throw InvalidArgument for a rate or factor that is not above 0 and finite (the last rate of a
// cosine may be 0), or a length of 0.

}  // namespace octet
