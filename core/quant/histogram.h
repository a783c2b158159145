#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace octet {

/// Counts values by their magnitude, in kBins equally wide bins for the positive ones and as many
/// for the negative ones, which together cover magnitudes below 2^exponent(). Zeros are in the
/// first bin of the positive ones. Where a value lies beyond, the range doubles until it holds it,
/// and neighbouring bins become one. Widths are powers of two, so that every count stays exact: the
/// histogram depends on the values alone, not on their order, their batches or threads.
class MagnitudeHistogram {
 public:
  static constexpr std::size_t kBins = 2048;  ///< For each sign.
  /// Numbers in packed(): the exponent, then two for each bin.
  static constexpr std::size_t kPackedSize = 1 + 4 * kBins;

  /// Throws NumericError for NaN and infinity, InvalidArgument where there would be 2^48 values.
  void add(std::span<const float> values);

  /// Adds what `more` counts beyond `less`, a state that it had before. Throws InvalidArgument
  /// where `less` counts values that `more` does not, or there would be 2^48 values.
  void add_new(const MagnitudeHistogram& more, const MagnitudeHistogram& less);

  [[nodiscard]] int exponent() const noexcept { return exponent_; }
  /// 2^exponent() / kBins. The bin i of the positive values holds i * width() <= x < (i + 1) *
  /// width().
  [[nodiscard]] double width() const;
  [[nodiscard]] std::uint64_t count() const;
  [[nodiscard]] std::span<const std::uint64_t> positive() const { return bins(0); }
  /// Bin i holds -(i + 1) * width() < x <= -i * width(), without 0.
  [[nodiscard]] std::span<const std::uint64_t> negative() const { return bins(1); }
  /// Counts by magnitude: the sums of the bins of both signs.
  [[nodiscard]] std::vector<std::uint64_t> magnitudes() const;

  /// All of it in float32 without rounding, each count as its lower and its upper 24 bits.
  [[nodiscard]] std::vector<float> packed() const;
  /// What packed() was made of. Throws NumericError, naming `name`, for other numbers.
  [[nodiscard]] static MagnitudeHistogram unpacked(std::span<const float> packed,
                                                   std::string_view name);

 private:
  using Counts = std::array<std::uint64_t, 2 * kBins>;

  [[nodiscard]] std::span<const std::uint64_t> bins(std::size_t sign) const {
    return std::span(counts_).subspan(sign * kBins, kBins);
  }
  void grow_to(int exponent);

  int exponent_ = kSmallestExponent;
  /// Positive, then negative values.
  Counts counts_{};

  /// Only 0 lies below 2^-149.
  static constexpr int kSmallestExponent = -149;
  static constexpr int kLargestExponent = 128;
};

}  // namespace octet
