#include <octet/core/buffer.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/rows_side_by_side.h>
#include <octet/core/parallel.h>
#include <octet/layers/quantize/int8_gradients_internal.h>
#include <octet/layers/quantize/measured_gradient.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace octet {

using detail::size_of;

namespace {

/// Values that are masked, measured and summed together, while they are in the cache.
constexpr Index kValuesAtOnce = 4096;

}  // namespace

namespace detail {

float gradient_scale(float largest) {
  constexpr float kLeast = 1e-30F;
  return largest > kLeast ? largest / static_cast<float>(kLargestGradient) : 1.0F;
}

}  // namespace detail

MeasuredGradient::MeasuredGradient(const Tensor& g, Index block)
    : values_(g.reshape({g.size() / g.dim(-1), g.dim(-1)})), block_(block) {
  measure(nullptr, values_.data());
}

MeasuredGradient::MeasuredGradient(const Mask& inside, const Tensor& g, const Tensor& to,
                                   Index block)
    : values_(to), block_(block) {
  measure(&inside, g.data());
}

/// Several rows of few units are read as one, so that they fill vectors: `width` columns, of which
/// every units()-th is one unit's.
void MeasuredGradient::measure(const Mask* inside, const float* from) {
  const Index together = rows_side_by_side(units());
  const std::size_t width = size_of(together * units());
  const Index at_once = std::max<Index>(1, kValuesAtOnce / (together * units())) * together;
  const std::size_t blocks = size_of(divided_up(rows(), block_));
  const std::size_t of_units = size_of(units());
  largest_.resize(blocks * of_units);
  sums_.resize(blocks * of_units);
  float* const values = inside == nullptr ? nullptr : values_.mutable_data();

  const auto measure_block = [&](std::size_t n) {
    const ScratchBuffer<std::int32_t, MeasuredGradient> most(width);
    std::fill_n(most.data(), width, 0);
    const ScratchBuffer<double, MeasuredGradient> totals(width);
    std::fill_n(totals.data(), width, 0.0);
    const Index first = static_cast<Index>(n) * block_;
    const Index last = std::min(rows(), first + block_);
    for (Index row = first; row < last; row += at_once) {
      const Index count = std::min(at_once, last - row);
      const Index at = row * units();
      if (inside != nullptr) {
        kernels().passes.masked_gradient(inside->get() + at, from + at, size_of(count * units()),
                                         values + at);
      }
      const float* const masked = inside == nullptr ? from : values;
      for_rows_side_by_side(count, units(), [&](Index i, Index lines, Index columns) {
        const float* const part = masked + at + i * units();
        kernels().passes.raise_magnitudes(part, size_of(lines), size_of(columns), most.data());
        add_columns(part, lines, {totals.data(), size_of(columns)});
      });
    }
    float* const largest = &largest_[n * of_units];
    for (std::size_t i = 0; i < width; i += of_units) {
      for (std::size_t u = 0; u < of_units; ++u) {
        const auto before = std::bit_cast<std::int32_t>(largest[u]);
        largest[u] = std::bit_cast<float>(std::max(before, most.data()[i + u]));
        sums_[n * of_units + u] += totals.data()[i + u];
      }
    }
  };
  parallel_for(blocks, parallel_grain(Work::write_floats, size_of(block_ * units())),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t n = begin; n < end; ++n) measure_block(n);
               });
}

Tensor MeasuredGradient::bias() const {
  const std::vector<double> sums = all().sums;
  Tensor result({units()});
  std::ranges::transform(sums, result.mutable_data(),
                         [](double sum) { return static_cast<float>(sum); });
  return result;
}

bool MeasuredGradient::is_finite() const {
  return std::ranges::all_of(largest_, [](float value) { return std::isfinite(value); });
}

std::span<const float> MeasuredGradient::largest(Index i) const {
  return std::span(largest_).subspan(size_of(i * units()), size_of(units()));
}

GradientRows MeasuredGradient::part(Index begin, Index end) const {
  assert(begin % block_ == 0 && (end % block_ == 0 || end == rows()));
  std::vector<float> scales(size_of(units()));
  std::vector<double> sums(scales.size());
  // In the order of blocks, whichever threads they were measured on.
  for (Index i = begin / block_; i < divided_up(end, block_); ++i) {
    const std::span<const float> of_block = largest(i);
    const double* const sums_of_block = &sums_[size_of(i * units())];
    for (std::size_t u = 0; u < scales.size(); ++u) {
      scales[u] = std::max(scales[u], of_block[u]);
      sums[u] += sums_of_block[u];
    }
  }
  for (float& scale : scales) scale = detail::gradient_scale(scale);
  return {values_.data() + begin * units(),
          end - begin,
          units(),
          begin * units(),
          std::move(scales),
          std::move(sums)};
}

}  // namespace octet
