#include <octet/core/quant/range_search.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include <fmt/core.h>

#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/histogram.h>
#include <octet/core/quant/quantize.h>

namespace octet {
namespace {

/// choose_quant_params() widens narrower ranges, so that clipping would change nothing.
constexpr float kNarrowestSearched = 1e-6F;

/// Values, and how often each is there; once where `counts` is empty.
struct Samples {
  std::span<const float> values;
  std::span<const double> counts;
};

float clip_at(std::size_t index) {
  return static_cast<float>(index + 1) / static_cast<float>(kClips);
}

/// Adds the errors of a block to four sums, of which each takes every fourth value: an order that
/// does not depend on the width of vectors.
template <typename Code>
void add_errors(std::span<const float> values, std::span<const double> counts, const Code* codes,
                const QuantParams& grid, std::array<double, 4>& sums) {
  const auto scale = static_cast<double>(grid.scale());
  const std::int32_t zero_point = grid.zero_point();
  const auto squared = [&](std::size_t i) {
    const double error =
        static_cast<double>(codes[i] - zero_point) * scale - static_cast<double>(values[i]);
    return error * error;
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    sums[i % sums.size()] += counts.empty() ? squared(i) : counts[i] * squared(i);
  }
}

template <typename Code>
double squared_error(const Samples& samples, const QuantParams& grid) {
  constexpr std::size_t kSamplesAtOnce = 1024;
  std::array<Code, kSamplesAtOnce> codes;
  std::array<double, 4> sums{};
  for (std::size_t begin = 0; begin < samples.values.size(); begin += kSamplesAtOnce) {
    const std::size_t size = std::min(kSamplesAtOnce, samples.values.size() - begin);
    const auto values = samples.values.subspan(begin, size);
    quantize(values, grid, std::span(codes).first(size));
    const auto counts =
        samples.counts.empty() ? samples.counts : samples.counts.subspan(begin, size);
    add_errors(values, counts, codes.data(), grid, sums);
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

float best_clip(const Samples& samples, const MinMax& limits, QuantSpec spec,
                std::string_view name) {
  const MinMax range{std::min(limits.min, 0.0F), std::max(limits.max, 0.0F)};
  if (range.max - range.min <= kNarrowestSearched) return 1.0F;
  spec.axis = -1;
  const bool fits_int8 = spec.qmin() >= std::numeric_limits<std::int8_t>::min() &&
                         spec.qmax() <= std::numeric_limits<std::int8_t>::max();
  std::array<double, kClips> errors{};
  const std::size_t grain = parallel_grain(Work::map_floats, samples.values.size());
  parallel_for(kClips, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const MinMax part = clipped(range, clip_at(i) * magnitude(range));
      const QuantParams grid = choose_quant_params(part.min, part.max, spec, name);
      errors[i] = fits_int8 ? squared_error<std::int8_t>(samples, grid)
                            : squared_error<std::int32_t>(samples, grid);
    }
  });
  // The first of equals.
  const auto best = std::ranges::min_element(errors);
  return clip_at(static_cast<std::size_t>(best - errors.begin()));
}

/// k of the k-th smallest of n values, from 1.
std::uint64_t rank_of(double percentile, std::uint64_t n) {
  const double k = std::floor(percentile / 100.0 * static_cast<double>(n) + 0.5);
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(k), 1, n);
}

/// The end of the first `bins` bins, not beyond the limits.
float end_of(std::size_t bins, const MagnitudeHistogram& histogram, const MinMax& limits) {
  const double end = static_cast<double>(bins) * histogram.width();
  return static_cast<float>(std::min(end, static_cast<double>(magnitude(limits))));
}

/// Divergence of the first `size` bins from the same in `levels` groups, see entropy_magnitude().
double divergence(std::span<const double> bins, std::size_t size, std::size_t levels) {
  const auto first = bins.first(size);
  const double kept = std::accumulate(first.begin(), first.end(), 0.0);
  const auto rest = bins.subspan(size);
  const double tail = std::accumulate(rest.begin(), rest.end(), 0.0);
  double sum = 0.0;
  std::size_t begin = 0;
  for (std::size_t level = 0; level < levels; ++level) {
    const std::size_t end = ((level + 1) * size + levels - 1) / levels;
    const auto group = first.subspan(begin, end - begin);
    const double total = std::accumulate(group.begin(), group.end(), 0.0);
    const auto filled = group.size() - static_cast<std::size_t>(std::ranges::count(group, 0.0));
    for (std::size_t i = begin; i < end; ++i) {
      const double p = (first[i] + (i + 1 == size ? tail : 0.0)) / (kept + tail);
      if (p == 0.0) continue;
      if (first[i] == 0.0) return std::numeric_limits<double>::infinity();
      sum += p * std::log(p / (total / static_cast<double>(filled) / kept));
    }
    begin = end;
  }
  return sum;
}

}  // namespace

float magnitude(const MinMax& limits) { return std::max(-limits.min, limits.max); }

MinMax clipped(const MinMax& limits, float threshold) {
  return {std::max(limits.min, -threshold), std::min(limits.max, threshold), limits.finite};
}

float mse_clip(std::span<const float> values, const QuantSpec& spec, std::string_view name) {
  const MinMax limits = min_max(values);
  if (!limits.finite) {
    throw NumericError(fmt::format("{}: expected finite values, found NaN or infinity", name));
  }
  return best_clip({values, {}}, limits, spec, name);
}

float mse_clip(const MagnitudeHistogram& histogram, const MinMax& limits, const QuantSpec& spec,
               std::string_view name) {
  std::vector<float> centres;
  std::vector<double> counts;
  const auto append = [&](std::span<const std::uint64_t> bins, double width) {
    for (std::size_t i = 0; i < bins.size(); ++i) {
      if (bins[i] == 0) continue;
      centres.push_back(static_cast<float>((static_cast<double>(i) + 0.5) * width));
      counts.push_back(static_cast<double>(bins[i]));
    }
  };
  append(histogram.positive(), histogram.width());
  append(histogram.negative(), -histogram.width());
  return best_clip({centres, counts}, limits, spec, name);
}

void require_percentile(double percentile, std::string_view name) {
  if (percentile > 0.0 && percentile <= 100.0) return;
  throw InvalidArgument(fmt::format(
      "{}: expected a percentile above 0 and up to 100, as 99.99, found {}", name, percentile));
}

float percentile_magnitude(std::span<const float> values, double percentile,
                           std::string_view name) {
  require_percentile(percentile, name);
  if (values.empty()) return 0.0F;
  std::vector<float> magnitudes(values.size());
  std::ranges::transform(values, magnitudes.begin(), [](float x) { return std::fabs(x); });
  const auto kth =
      magnitudes.begin() + static_cast<std::ptrdiff_t>(rank_of(percentile, magnitudes.size())) - 1;
  std::nth_element(magnitudes.begin(), kth, magnitudes.end());
  return *kth;
}

float percentile_magnitude(const MagnitudeHistogram& histogram, const MinMax& limits,
                           double percentile, std::string_view name) {
  require_percentile(percentile, name);
  const std::uint64_t n = histogram.count();
  if (n == 0) return 0.0F;
  const std::uint64_t k = rank_of(percentile, n);
  const std::vector<std::uint64_t> bins = histogram.magnitudes();
  std::size_t bin = 0;
  for (std::uint64_t below = bins[0]; below < k; below += bins[bin]) ++bin;
  return end_of(bin + 1, histogram, limits);
}

void require_entropy_bits(const QuantSpec& spec, std::string_view name) {
  if (spec.num_bits == 8) return;
  throw InvalidArgument(
      fmt::format("{}: expected 8 bits for a range of least entropy, found {}; use mse or "
                  "percentile",
                  name, spec.num_bits));
}

float entropy_magnitude(const MagnitudeHistogram& histogram, const MinMax& limits,
                        const QuantSpec& spec, std::string_view name) {
  require_entropy_bits(spec, name);
  const std::vector<std::uint64_t> counts = histogram.magnitudes();
  std::vector<double> bins(counts.begin(), counts.end());
  bins[0] = bins[1];
  std::size_t used = bins.size();
  while (used > 0 && bins[used - 1] == 0.0) --used;
  const bool both_signs = limits.min < 0.0F && limits.max > 0.0F;
  const std::size_t levels = both_signs || spec.symmetric ? 128 : 256;
  if (used <= levels) return magnitude(limits);
  std::vector<double> divergences(used - levels + 1);
  parallel_for(divergences.size(), parallel_grain(Work::transcendental, used),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   divergences[i] = divergence(bins, levels + i, levels);
                 }
               });
  const auto best = std::ranges::min_element(divergences);
  return end_of(levels + static_cast<std::size_t>(best - divergences.begin()), histogram, limits);
}

}  // namespace octet
