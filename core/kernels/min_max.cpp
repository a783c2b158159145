#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/min_max.h>
#include <octet/core/parallel.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <vector>

namespace octet {
namespace {

MinMax scan(std::span<const float> values) {
  MinMax result;
  kernels().passes.min_max(values.data(), values.size(), &result.min, &result.max, &result.finite);
  return result;
}

MinMax scan(std::span<const std::uint8_t> pixels) {
  std::uint8_t min = 0;
  std::uint8_t max = 0;
  kernels().passes.min_max_bytes(pixels.data(), pixels.size(), &min, &max);
  MinMax result;
  kernels().passes.bytes_to_unit(&min, 1, &result.min);
  kernels().passes.bytes_to_unit(&max, 1, &result.max);
  return result;
}

template <class T>
MinMax scan_parts(std::span<const T> values, Work work) {
  if (values.empty()) return {};
  const std::size_t share = thread_share(values.size(), parallel_grain(work));
  if (share >= values.size()) return scan(values);
  std::vector<MinMax> parts((values.size() + share - 1) / share);
  parallel_for(values.size(), share, [&](std::size_t begin, std::size_t end) {
    parts[begin / share] = scan(values.subspan(begin, end - begin));
  });
  MinMax result = parts.front();
  for (const MinMax& part : parts) result.include(part);
  return result;
}

}  // namespace

MinMax min_max(std::span<const float> values) { return scan_parts(values, Work::read_floats); }

MinMax min_max_pixels(std::span<const std::uint8_t> pixels) {
  return scan_parts(pixels, Work::read_bytes);
}

bool min_max_columns(std::span<const float> values, std::span<float> mins, std::span<float> maxs) {
  const std::size_t columns = mins.size();
  assert(maxs.size() == columns && (columns == 0 || values.size() % columns == 0));
  if (columns == 0 || values.empty()) {
    std::ranges::fill(mins, 0.0F);
    std::ranges::fill(maxs, 0.0F);
    return true;
  }
  std::vector<float> poison(columns, 0.0F);
  std::ranges::copy(values.first(columns), mins.begin());
  std::ranges::copy(values.first(columns), maxs.begin());
  float* __restrict low = mins.data();
  float* __restrict high = maxs.data();
  float* __restrict bad = poison.data();
  for (std::size_t row = 0; row < values.size(); row += columns) {
    const float* x = values.data() + row;
    for (std::size_t j = 0; j < columns; ++j) {
      low[j] = x[j] < low[j] ? x[j] : low[j];
      high[j] = x[j] > high[j] ? x[j] : high[j];
      bad[j] += 0.0F * x[j];
    }
  }
  return std::ranges::all_of(poison, [](float v) { return v == 0.0F; });
}

}  // namespace octet
