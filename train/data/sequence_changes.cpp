#include <octet/train/data/augmentation_internal.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace octet::detail {
namespace {

/// The steps and features of sequences.
std::pair<Index, Index> sequence_extents(const Tensor& features, const char* change) {
  require_rank(features, {3}, change, "sequences [steps, features]");
  return {features.dim(1), features.dim(2)};
}

/// Row `step` of the sequence, which may lie outside.
float step_value(std::span<const float> sequence, Index steps, Index width, Index step, Index at,
                 float fill) {
  if (step < 0 || step >= steps) return fill;
  return sequence[static_cast<std::size_t>(step * width + at)];
}

/// A mask of 0 to `most` in a row among `count`: its begin and its end.
std::pair<Index, Index> draw_mask(const Random& own, std::uint64_t at, Index most, Index count) {
  const Index length = own.below(at, static_cast<std::uint32_t>(std::min(most, count) + 1));
  const Index begin = own.below(at + 1, static_cast<std::uint32_t>(count - length + 1));
  return {begin, begin + length};
}

}  // namespace

void change_time(const Augmentation& how, Tensor& features, const Random& random) {
  if (how.speed == 0.0F && how.time_shift == 0) return;
  const auto [steps, width] = sequence_extents(features, "speed and time_shift");
  const Random speeds = stream_of(random, ChangeStream::speed);
  const Random shifts = stream_of(random, ChangeStream::time_shift);
  change_rows(features, [&, steps = steps, width = width](std::size_t row, std::span<float> all) {
    const std::vector<float> old(all.begin(), all.end());
    const double factor = factor_around_one(how.speed, speeds.fork(row).uniform(0));
    const auto most = static_cast<std::uint32_t>(2 * how.time_shift + 1);
    const Index shift = shifts.fork(row).below(0, most) - how.time_shift;
    auto to = all.begin();
    for (Index step = 0; step < steps; ++step) {
      const double from = static_cast<double>(step - shift) * factor;
      const double before = std::floor(from);
      const auto share = static_cast<float>(from - before);
      const bool far = before < -1.0 || before >= static_cast<double>(steps);
      for (Index at = 0; at < width; ++at) {
        const auto first = far ? steps : static_cast<Index>(before);
        const float a = step_value(old, steps, width, first, at, how.fill);
        const float b = share == 0.0F ? a : step_value(old, steps, width, first + 1, at, how.fill);
        *to++ = a + share * (b - a);
      }
    }
  });
}

void mask_sequences(const Augmentation& how, Tensor& features, const Random& random) {
  if (how.time_mask == 0 && how.frequency_mask == 0) return;
  const auto [steps, width] = sequence_extents(features, "time_mask and frequency_mask");
  const Random stream = stream_of(random, ChangeStream::mask);
  change_rows(features, [&, steps = steps, width = width](std::size_t row, std::span<float> all) {
    const Random own = stream.fork(row);
    const auto in_time = draw_mask(own, 0, how.time_mask, steps);
    const auto in_frequency = draw_mask(own, 2, how.frequency_mask, width);
    for (Index step = 0; step < steps; ++step) {
      for (Index at = 0; at < width; ++at) {
        const bool is_masked = (step >= in_time.first && step < in_time.second) ||
                               (at >= in_frequency.first && at < in_frequency.second);
        if (is_masked) all[static_cast<std::size_t>(step * width + at)] = how.fill;
      }
    }
  });
}

}  // namespace octet::detail
