#pragma once

#include <octet/core/quant/activation_range.h>
#include <octet/core/tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

// The parts that gradients of learned scales are made of.

namespace octet {

/// Sums over all values x, with v = x / step and the gradients g, from which the gradients of a
/// learned step, or of a channel's, follow.
struct StepSums {
  double inside = 0.0;  ///< sum of g * (round(v) - v) where x passes, ties away from zero
  double below = 0.0;   ///< sum of g where x is clamped below
  double above = 0.0;   ///< sum of g where x is clamped above
};

/// The limits within which x passes its gradient, for quantized values from `lo` to `hi` steps,
/// both left out: the smallest x above, and the largest below, by the float32 quotient x / step.
RealLimits values_between(float step, std::int32_t lo, std::int32_t hi);

/// Steps and the limits of values that pass their gradient: one of each, or one per channel.
struct LearnedSteps {
  std::vector<float> steps;
  std::vector<RealLimits> passes;
};

/// Sums over parts of a matrix of rows of channels, which come in any order and from any thread.
class StepSumParts {
 public:
  /// For `rows` rows of `columns` values: a channel each where there are several steps, else all of
  /// one step. Parts are of `rows_per_part` rows; the last may be smaller.
  StepSumParts(const LearnedSteps& learned, std::size_t rows, std::size_t columns,
               std::size_t rows_per_part);

  /// Adds rows [begin, end), `begin` that of a part and `end` too, or the last row. Writes g where
  /// x passes, else 0, to `passed`, which may be g itself, unless it is null.
  void add(std::size_t begin, std::size_t end, const float* x, const float* g, float* passed);
  /// Returns the sums of each step, added part by part in their order.
  std::vector<StepSums> total() const;
  std::size_t rows_per_part() const { return rows_per_part_; }

 private:
  bool per_channel_;
  std::size_t columns_;
  std::size_t rows_per_part_;
  /// Per column.
  std::vector<float> steps_, reciprocals_, lowest_, highest_;
  std::vector<double> totals_;
};

/// The sums of each channel, channels on the last axis of x, or those of all values for one step.
/// Sums are made in an order that no number of threads changes.
std::vector<StepSums> step_sums(const Tensor& x, const Tensor& g, const LearnedSteps& learned);

/// step_sums() of a single step; g where x passes, else 0, is written to `to`, which may be g.
std::vector<StepSums> step_sums_and_passed(const Tensor& x, const Tensor& g,
                                           const LearnedSteps& learned, const Tensor& to);

/// The sums for a kernel x, the units on its last axis, and its gradient g, of which only what
/// passes is left.
std::vector<StepSums> step_sums_and_mask(const Tensor& x, Tensor& g, const LearnedSteps& learned);

/// g where x passes, else 0; channels on the last axis as for step_sums().
Tensor passed_gradient(const Tensor& x, const Tensor& g, const LearnedSteps& learned);

}  // namespace octet
