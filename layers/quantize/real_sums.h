#pragma once

#include <octet/core/buffer.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/min_max.h>
#include <octet/core/kernels/repeated_row.h>
#include <octet/core/kernels/rows_side_by_side.h>
#include <octet/core/quant/activation_range.h>
#include <octet/core/shape.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace octet {

/// Computes the real values of sums, clamp(sum * scale), with a scale for each unit.
class RealForm {
 public:
  RealForm(std::vector<float> scales, RealLimits clamp)
      : scales_(std::move(scales)), repeated_(scales_, kMostRepeated), clamp_(clamp) {}

  const std::vector<float>& scales() const { return scales_; }
  Index width() const { return static_cast<Index>(scales_.size()); }

  /// Writes the real sums of `rows` rows of units [unit, unit + units); rows lie `stride` apart in
  /// `sums` and `out_stride` in `out`.
  void write(const std::int32_t* sums, Index stride, Index rows, Index unit, Index units,
             float* out, Index out_stride) const {
    const bool whole = units == width() && stride == units && out_stride == units;
    const Index step = whole ? static_cast<Index>(repeated_.rows()) : 1;
    const float* scales = whole ? repeated_.data() : scales_.data() + unit;
    for (Index i = 0; i < rows; i += step, sums += step * stride, out += step * out_stride) {
      kernels().passes.real_sums(sums, static_cast<std::size_t>(std::min(step, rows - i) * units),
                                 scales, clamp_.lo, clamp_.hi, out);
    }
  }

 private:
  static constexpr std::size_t kMostRepeated = 512;

  std::vector<float> scales_;
  RepeatedRow<float> repeated_;
  RealLimits clamp_;
};

/// A matrix of sums and its real values: made where they are read, as they would take as much
/// memory again as the sums.
class RealSums {
 public:
  RealSums(std::shared_ptr<const std::int32_t[]> sums, std::vector<float> scales, RealLimits clamp)
      : sums_(std::move(sums)), form_(std::move(scales), clamp) {}

  /// Elements of the parts that write() takes best: those that backward passes read at once.
  std::size_t grain() const { return static_cast<std::size_t>(form_.width()) * kRows; }

  /// Writes the elements [begin, end), whole rows.
  void write(std::size_t begin, std::size_t end, float* out) const {
    const Index width = form_.width();
    form_.write(sums_.get() + begin, width, static_cast<Index>(end - begin) / width, 0, width, out,
                width);
  }

  /// The limits of the real values in rows [begin, end) and units [unit, unit + units), begin <
  /// end. Scaling and clamping the sums of a unit keeps their order, so the extremes of the real
  /// values are those of the sums.
  MinMax limits(Index begin, Index end, Index unit, Index units) const {
    const Index width = form_.width();
    const ScratchBuffer<std::int32_t, RealSums> memory(
        static_cast<std::size_t>(4 * units + 2 * kEnoughColumns));
    std::int32_t* const lowest = memory.data();
    std::int32_t* const highest = lowest + units;
    std::int32_t* const found = highest + units;
    std::fill_n(lowest, units, std::numeric_limits<std::int32_t>::max());
    std::fill_n(highest, units, std::numeric_limits<std::int32_t>::min());
    const auto measure = [&](Index first, Index rows, Index columns) {
      kernels().passes.column_limits(sums_.get() + (begin + first) * width + unit,
                                     std::max(width, columns), static_cast<std::size_t>(rows),
                                     static_cast<std::size_t>(columns), found, found + columns);
      for (const std::int32_t* from = found; from < found + columns; from += units) {
        for (Index j = 0; j < units; ++j) {
          lowest[j] = std::min(lowest[j], from[j]);
          highest[j] = std::max(highest[j], from[columns + j]);
        }
      }
    };
    if (units == width) {
      for_rows_side_by_side(end - begin, units, measure);
    } else {
      measure(0, end - begin, units);
    }
    const ScratchBuffer<float, RealSums> real(static_cast<std::size_t>(2 * units));
    form_.write(lowest, units, 2, unit, units, real.data(), units);
    return min_max({real.data(), static_cast<std::size_t>(2 * units)});
  }

 private:
  static constexpr std::size_t kRows = 32;

  std::shared_ptr<const std::int32_t[]> sums_;
  RealForm form_;
};

}  // namespace octet
