#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/runtime/operators/fully_connected.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace octet::detail {

std::int64_t farthest_from_zero_point(const QuantParams& params) {
  return std::max(std::int64_t{params.qmax} - params.zero_point(),
                  std::int64_t{params.zero_point()} - params.qmin);
}

std::int64_t accumulator_bound(std::span<const std::int64_t> magnitudes,
                               std::span<const std::int32_t> bias, std::int64_t reach,
                               std::string_view owner) {
  std::int64_t largest = 0;
  for (std::size_t unit = 0; unit < magnitudes.size(); ++unit) {
    const std::int64_t start = bias.empty() ? 0 : std::abs(std::int64_t{bias[unit]});
    const std::int64_t bound = magnitudes[unit] * reach + start;
    // A bias that nothing is added to may be the least int32.
    const bool is_bias = magnitudes[unit] == 0;
    if (!is_bias && bound > std::numeric_limits<std::int32_t>::max()) {
      throw InvalidArgument(
          fmt::format("{}, channel {}: sums could reach {}, beyond int32; the layer has too many "
                      "inputs or too large a bias",
                      owner, unit, bound));
    }
    largest = std::max(largest, bound);
  }
  return largest;
}

std::int64_t magnitude_of(std::span<const std::int8_t> weights, std::int32_t zero_point) {
  // int32 holds so many of at most 255, and is added up several at a time.
  constexpr std::size_t kPart = std::size_t{1} << 22U;
  std::int64_t total = 0;
  for (std::size_t begin = 0; begin < weights.size(); begin += kPart) {
    std::int32_t sum = 0;
    for (const std::int8_t weight :
         weights.subspan(begin, std::min(kPart, weights.size() - begin))) {
      sum += std::abs(weight - zero_point);
    }
    total += sum;
  }
  return total;
}

}  // namespace octet::detail
