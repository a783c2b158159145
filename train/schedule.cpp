#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/schedule.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace octet {
namespace {

void check_above_0(const char* what, float value) {
  if (!(value > 0.0F && std::isfinite(value))) {
    throw InvalidArgument(
        fmt::format("schedule: expected a finite {} above 0, found {}", what, value));
  }
}

void check_rate(float rate) { check_above_0("learning rate", rate); }

void check_length(std::uint64_t steps) {
  if (steps == 0) throw InvalidArgument("schedule: expected at least 1 step, found 0");
}

}  // namespace

Schedule constant_rate(float rate) {
  check_rate(rate);
  return [rate](std::uint64_t /*step*/) { return rate; };
}

Schedule step_decay(float rate, float factor, std::uint64_t every) {
  check_rate(rate);
  check_above_0("factor", factor);
  check_length(every);
  return [=](std::uint64_t step) {
    const std::uint64_t falls = step / every;
    return rate * static_cast<float>(std::pow(double{factor}, static_cast<double>(falls)));
  };
}

Schedule exponential_decay(float rate, float decay, std::uint64_t every) {
  check_rate(rate);
  check_above_0("decay", decay);
  check_length(every);
  return [=](std::uint64_t step) {
    const double exponent = static_cast<double>(step) / static_cast<double>(every);
    return rate * static_cast<float>(std::pow(static_cast<double>(decay), exponent));
  };
}

Schedule cosine_decay(float rate, std::uint64_t steps, float last) {
  check_rate(rate);
  check_length(steps);
  if (!(last >= 0.0F && std::isfinite(last))) {
    throw InvalidArgument(
        fmt::format("schedule: expected a finite last rate of 0 or more, found {}", last));
  }
  return [=](std::uint64_t step) {
    const double part = std::min(1.0, static_cast<double>(step) / static_cast<double>(steps));
    const double weight = 0.5 * (1.0 + std::cos(std::numbers::pi * part));
    return last + (rate - last) * static_cast<float>(weight);
  };
}

Schedule warmup(std::uint64_t steps, Schedule then) {
  check_length(steps);
  if (!then) throw InvalidArgument("schedule: expected a schedule to warm up to, found none");
  return [steps, then = std::move(then)](std::uint64_t step) {
    if (step >= steps) return then(step - steps);
    return then(0) * static_cast<float>(step + 1) / static_cast<float>(steps);
  };
}

void LearningRate::check() const {
  if (schedule_) return;
  throw InvalidArgument("LearningRate: expected a number or a schedule, found an empty function");
}

}  // namespace octet
