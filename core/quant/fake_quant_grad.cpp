#include <octet/core/quant/fake_quant.h>

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/core.h>

#include <octet/core/error.h>

namespace octet {
namespace {

void check_sizes(std::size_t gradient, std::size_t in, std::size_t d_input) {
  if (gradient != in || in != d_input) {
    throw InvalidArgument(
        fmt::format("fake_quant gradient: gradient and input must be the same size, found {}, {} "
                    "and room for {}",
                    gradient, in, d_input));
  }
}

// Selects one of two values without a branch, so that loops vectorise.
inline float pass_if(bool condition, float gradient) noexcept {
  return condition ? gradient : 0.0F;
}

inline float mask(float gradient, float x, float min, float max) noexcept {
  const bool above = x >= min;
  const bool below = x <= max;
  return pass_if(above & below, gradient);
}

// Sums in a fixed order: kLanes running sums in float32 within a block, blocks in double.
constexpr std::size_t kLanes = 16;
constexpr std::size_t kBlock = 1024;

struct Sums {
  double below = 0.0;
  double above = 0.0;
};

void add_block(const float* gradient, const float* x, std::size_t size, float min, float max,
               Sums& sums) noexcept {
  std::array<float, kLanes> below{};
  std::array<float, kLanes> above{};
  std::size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      below[lane] += pass_if(x[i + lane] < min, gradient[i + lane]);
      above[lane] += pass_if(x[i + lane] > max, gradient[i + lane]);
    }
  }
  for (std::size_t lane = 0; i < size; ++i, ++lane) {
    below[lane] += pass_if(x[i] < min, gradient[i]);
    above[lane] += pass_if(x[i] > max, gradient[i]);
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    sums.below += static_cast<double>(below[lane]);
    sums.above += static_cast<double>(above[lane]);
  }
}

}  // namespace

void fake_quant_mask(std::span<const float> gradient, std::span<const float> in,
                     const NudgedRange& range, std::span<float> d_input) {
  check_sizes(gradient.size(), in.size(), d_input.size());
  if (range.is_zero) {
    std::copy(gradient.begin(), gradient.end(), d_input.begin());
    return;
  }
  const float min = range.min;
  const float max = range.max;
  const float* g = gradient.data();
  const float* x = in.data();
  float* d = d_input.data();
  for (std::size_t i = 0; i < in.size(); ++i) {
    d[i] = mask(g[i], x[i], min, max);
  }
}

void fake_quant_mask(std::span<const float> gradient, std::span<const float> in,
                     const NudgedRanges& ranges, std::span<float> d_input) {
  check_sizes(gradient.size(), in.size(), d_input.size());
  const std::size_t channels = ranges.pass_min.size();
  if (channels == 0 || in.size() % channels != 0) {
    throw InvalidArgument(
        fmt::format("fake_quant gradient: {} elements are no whole number of rows of {} channels",
                    in.size(), channels));
  }
  const float* min = ranges.pass_min.data();
  const float* max = ranges.pass_max.data();
  for (std::size_t start = 0; start < in.size(); start += channels) {
    const float* g = gradient.data() + start;
    const float* x = in.data() + start;
    float* d = d_input.data() + start;
    for (std::size_t c = 0; c < channels; ++c) {
      d[c] = mask(g[c], x[c], min[c], max[c]);
    }
  }
}

RangeGradient fake_quant_vars_grad(std::span<const float> gradient, std::span<const float> in,
                                   float min, float max, int num_bits, bool narrow_range,
                                   std::span<float> d_input, std::string_view name) {
  check_sizes(gradient.size(), in.size(), d_input.size());
  const NudgedRange range = nudge(min, max, num_bits, narrow_range, name);
  Sums sums;
  if (!range.is_zero) {  // before d_input is written: it may be the gradient's own memory
    for (std::size_t start = 0; start < in.size(); start += kBlock) {
      add_block(gradient.data() + start, in.data() + start, std::min(kBlock, in.size() - start),
                range.min, range.max, sums);
    }
  }
  fake_quant_mask(gradient, in, range, d_input);
  return {static_cast<float>(sums.below), static_cast<float>(sums.above)};
}

void fake_quant_per_channel_grad(std::span<const float> gradient, std::span<const float> in,
                                 std::span<const float> min, std::span<const float> max,
                                 int num_bits, bool narrow_range, std::span<float> d_input,
                                 std::span<float> d_min, std::span<float> d_max,
                                 std::string_view name) {
  const NudgedRanges ranges = nudge_per_channel(min, max, num_bits, narrow_range, name);
  const std::size_t channels = min.size();
  if (d_min.size() != channels || d_max.size() != channels) {
    throw InvalidArgument(fmt::format("{}: {} channels, but room for {} min and {} max gradients",
                                      name, channels, d_min.size(), d_max.size()));
  }
  check_sizes(gradient.size(), in.size(), d_input.size());
  std::vector<double> below(channels, 0.0);
  std::vector<double> above(channels, 0.0);
  for (std::size_t start = 0; start + channels <= in.size(); start += channels) {
    for (std::size_t c = 0; c < channels; ++c) {
      const auto g = static_cast<double>(gradient[start + c]);
      below[c] += in[start + c] < ranges.pass_min[c] ? g : 0.0;
      above[c] += in[start + c] > ranges.pass_max[c] ? g : 0.0;
    }
  }
  fake_quant_mask(gradient, in, ranges, d_input);
  for (std::size_t c = 0; c < channels; ++c) {
    d_min[c] = static_cast<float>(below[c]);
    d_max[c] = static_cast<float>(above[c]);
  }
}

}  // namespace octet
