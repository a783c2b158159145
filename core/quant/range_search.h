#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <octet/core/kernels/min_max.h>
#include <octet/core/quant/quant_params.h>

// How much of a tensor's range a grid is to span: what lies beyond is clipped, so that the steps
// are smaller. Every search gives a threshold t or a clip c = t / max |x|, for the range
// [max(min, -t), min(max, t)].

namespace octet {

class MagnitudeHistogram;

/// Clips that are tried: 1 / kClips, 2 / kClips, ..., 1.
inline constexpr std::size_t kClips = 100;

/// The larger magnitude of the two limits.
[[nodiscard]] float magnitude(const MinMax& limits);
/// [max(min, -threshold), min(max, threshold)].
[[nodiscard]] MinMax clipped(const MinMax& limits, float threshold);

/// The clip whose grid has the smallest squared error, sum (q(x) - x)^2, in double and in a fixed
/// order; of equal errors the smallest clip. q is the grid that choose_quant_params() makes of
/// `spec` and the clipped limits, ties away from zero; the axis of `spec` does not matter. Values
/// whose range is too narrow for a grid of its own are not clipped. Throws NumericError, naming
/// `name`, for values that are not finite.
[[nodiscard]] float mse_clip(std::span<const float> values, const QuantSpec& spec,
                             std::string_view name);
/// Returns the clip of least squared error from a histogram: the error is the sum over the bins of
/// count * (q(centre) - centre)^2; `limits` are those of all values that were counted.
[[nodiscard]] float mse_clip(const MagnitudeHistogram& histogram, const MinMax& limits,
                             const QuantSpec& spec, std::string_view name);

/// The k-th smallest magnitude of n values, k = floor(percentile / 100 * n + 0.5) and at least 1;
/// 0 without values. Exact: it is one of the magnitudes. Throws InvalidArgument, naming `name`, for
/// a percentile outside (0, 100].
[[nodiscard]] float percentile_magnitude(std::span<const float> values, double percentile,
                                         std::string_view name);
/// Returns the magnitude of a percentile from a histogram: the upper end of the bin that holds the
/// k-th smallest magnitude, or the largest magnitude of `limits` where that is smaller.
[[nodiscard]] float percentile_magnitude(const MagnitudeHistogram& histogram, const MinMax& limits,
                                         double percentile, std::string_view name);
/// Throws InvalidArgument, naming `name`, unless 0 < percentile <= 100.
void require_percentile(double percentile, std::string_view name);

/// The threshold i * width that minimises the Kullback-Leibler divergence of what a grid of 8 bits
/// leaves of the magnitudes' distribution (TensorRT, Migacz 2017), i = levels, levels + 1, ...:
///   p = the first i bins, all counts beyond added to the last of them; q = the first i bins in
///   `levels` groups, the count of each group spread evenly over those of its bins that are not
///   empty; both normalised; divergence = sum p log(p / q).
/// The first bin, where zeros are, counts as the second. levels is 128, or 256 where all values
/// have one sign and the spec is not symmetric. Of equal divergences the smallest threshold wins;
/// it is at most the largest magnitude of `limits`. Throws InvalidArgument, naming `name`, for
/// other bits than 8.
[[nodiscard]] float entropy_magnitude(const MagnitudeHistogram& histogram, const MinMax& limits,
                                      const QuantSpec& spec, std::string_view name);
/// Throws InvalidArgument, naming `name`, unless the spec has 8 bits.
void require_entropy_bits(const QuantSpec& spec, std::string_view name);

}  // namespace octet
