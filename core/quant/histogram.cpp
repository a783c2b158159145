#include <octet/core/quant/histogram.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include <fmt/core.h>

#include <octet/core/error.h>
#include <octet/core/kernels/min_max.h>
#include <octet/core/parallel.h>

namespace octet {
namespace {

constexpr int kBinBits = 11;
static_assert(MagnitudeHistogram::kBins == std::size_t{1} << kBinBits);
constexpr int kPartBits = 24;
constexpr std::uint64_t kPart = std::uint64_t{1} << kPartBits;
constexpr std::uint64_t kMostValues = kPart * kPart;

/// The exponent e with 2^(e - 1) <= magnitude < 2^e.
int exponent_above(float magnitude) {
  int exponent = 0;
  static_cast<void>(std::frexp(magnitude, &exponent));
  return exponent;
}

bool is_whole(float number, float below) {
  return number >= 0.0F && number < below && std::trunc(number) == number;
}

void require_room(std::uint64_t counted, std::uint64_t more) {
  if (counted + more < kMostValues) return;
  throw InvalidArgument(
      fmt::format("histogram: expected fewer than 2^48 values, found {} more", more));
}

}  // namespace

double MagnitudeHistogram::width() const { return std::ldexp(1.0, exponent_ - kBinBits); }

std::uint64_t MagnitudeHistogram::count() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

std::vector<std::uint64_t> MagnitudeHistogram::magnitudes() const {
  std::vector<std::uint64_t> sums(kBins);
  std::ranges::transform(positive(), negative(), sums.begin(), std::plus<>());
  return sums;
}

void MagnitudeHistogram::grow_to(int exponent) {
  if (exponent <= exponent_) return;
  // Beyond that all that was counted is in the first bins.
  const int doublings = std::min(exponent - exponent_, kBinBits);
  Counts wider{};
  for (std::size_t i = 0; i < kBins; ++i) {
    wider[i >> doublings] += counts_[i];
    wider[kBins + (i >> doublings)] += counts_[kBins + i];
  }
  counts_ = wider;
  exponent_ = exponent;
}

void MagnitudeHistogram::add(std::span<const float> values) {
  require_room(count(), values.size());
  const MinMax limits = min_max(values);
  if (!limits.finite)
    throw NumericError("histogram: expected finite values, found NaN or infinity");
  const float largest = std::max(-limits.min, limits.max);
  if (largest > 0.0F) grow_to(exponent_above(largest));
  const double bins_per_unit = 1.0 / width();
  std::mutex mutex;
  const std::size_t least = parallel_grain(Work::write_floats);
  parallel_for(values.size(), thread_share(values.size(), least), [&](auto begin, auto end) {
    Counts own{};
    for (const float x : values.subspan(begin, end - begin)) {
      const auto bin = static_cast<std::size_t>(static_cast<double>(std::fabs(x)) * bins_per_unit);
      ++own[x < 0.0F ? kBins + bin : bin];
    }
    const std::scoped_lock lock(mutex);
    std::ranges::transform(counts_, own, counts_.begin(), std::plus<>());
  });
}

void MagnitudeHistogram::add_new(const MagnitudeHistogram& more, const MagnitudeHistogram& less) {
  MagnitudeHistogram added = more;
  MagnitudeHistogram known = less;
  const int exponent = std::max({exponent_, added.exponent_, known.exponent_});
  for (MagnitudeHistogram* each : {this, &added, &known}) each->grow_to(exponent);
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (known.counts_[i] > added.counts_[i]) {
      throw InvalidArgument(
          "histogram: expected one that has grown from the other, found fewer values in a bin");
    }
    added.counts_[i] -= known.counts_[i];
  }
  require_room(count(), added.count());
  std::ranges::transform(counts_, added.counts_, counts_.begin(), std::plus<>());
}

std::vector<float> MagnitudeHistogram::packed() const {
  std::vector<float> result(kPackedSize);
  result[0] = static_cast<float>(exponent_);
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const std::uint64_t upper = counts_[i] / kPart;
    result[1 + i] = static_cast<float>(counts_[i] % kPart);
    result[1 + counts_.size() + i] = static_cast<float>(upper);
  }
  return result;
}

MagnitudeHistogram MagnitudeHistogram::unpacked(std::span<const float> packed,
                                                std::string_view name) {
  const auto from_smallest = [](float exponent) {
    return exponent - static_cast<float>(kSmallestExponent);
  };
  constexpr float kExponents = kLargestExponent - kSmallestExponent + 1;
  const bool sound = packed.size() == kPackedSize && std::isfinite(packed[0]) &&
                     is_whole(from_smallest(packed[0]), kExponents) &&
                     std::ranges::all_of(packed.subspan(1), [](float number) {
                       return is_whole(number, static_cast<float>(kPart));
                     });
  if (!sound) {
    throw NumericError(fmt::format(
        "{}: expected a histogram's exponent and counts, found other numbers; is the file that "
        "they come from damaged?",
        name));
  }
  MagnitudeHistogram result;
  result.exponent_ = static_cast<int>(packed[0]);
  for (std::size_t i = 0; i < result.counts_.size(); ++i) {
    result.counts_[i] = static_cast<std::uint64_t>(packed[1 + i]) +
                        kPart * static_cast<std::uint64_t>(packed[1 + result.counts_.size() + i]);
  }
  return result;
}

}  // namespace octet
