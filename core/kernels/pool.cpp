#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/pool.h>

#include <limits>

namespace octet::detail {
namespace {

/// `of_line`: the pass for windows side by side.
template <class T>
void largest_values(const Pooling& p, const T* x, T* y, T lowest,
                    void (*of_line)(const T* x, const PoolWindows& windows, T* y)) {
  if (p.window.is_tiling()) {
    return for_each_line(p, [&](const PoolWindows& windows, Index input, Index output) {
      of_line(x + input, windows, y + output);
    });
  }
  reduce_windows(
      p, x, y, lowest, [](T largest, T value) { return exceeds(value, largest) ? value : largest; },
      [](T largest, Index /*pixels*/) { return largest; });
}

}  // namespace

void max_pool(const Pooling& p, const float* x, float* y) {
  largest_values(p, x, y, -std::numeric_limits<float>::infinity(), kernels().passes.max_pool);
}

void max_pool(const Pooling& p, const std::int8_t* x, std::int8_t* y) {
  largest_values(p, x, y, std::int8_t{-128}, kernels().passes.max_pool_codes);
}

void average_pool(const Pooling& p, const float* x, float* y) {
  reduce_windows(
      p, x, y, 0.0, [](double sum, float value) { return sum + static_cast<double>(value); },
      [](double sum, Index pixels) {
        return static_cast<float>(sum / static_cast<double>(pixels));
      });
}

}  // namespace octet::detail
