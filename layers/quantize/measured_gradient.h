#pragma once

#include <octet/core/ops/gradients_internal.h>
#include <octet/core/tensor.h>

#include <cstdint>
#include <span>
#include <vector>

namespace octet {

/// Rows of a gradient [rows, units], of which the first value is number `first` of all, with the
/// scale of each unit's quantized values and the sum of its values.
struct GradientRows {
  const float* values;
  Index rows;
  Index units;
  Index first;
  std::vector<float> scales;
  std::vector<double> sums;
};

/// A gradient of sums [rows, units] with the largest magnitudes of its values, which the scales of
/// quantized values are made of, and their sums. Each unit has one of each in every block of rows.
class MeasuredGradient {
 public:
  /// Measures g [..., units] in blocks of `block` rows.
  MeasuredGradient(const Tensor& g, Index block);
  /// Measures g where `inside` is 1, else 0. Values are written to `to`, a new tensor or a view of
  /// what writable_gradient() gives.
  MeasuredGradient(const Mask& inside, const Tensor& g, const Tensor& to, Index block);

  /// [rows, units].
  const Tensor& values() const { return values_; }
  /// The sums of all values of each unit, the gradient of a bias.
  Tensor bias() const;
  Index rows() const { return values_.dim(0); }
  Index units() const { return values_.dim(1); }
  Index block() const { return block_; }
  bool is_finite() const;

  /// The largest magnitude of each unit in block i.
  std::span<const float> largest(Index i) const;
  /// The rows [begin, end), which are whole blocks.
  GradientRows part(Index begin, Index end) const;
  GradientRows all() const { return part(0, rows()); }

 private:
  void measure(const Mask* inside, const float* from);

  Tensor values_;
  Index block_;
  std::vector<float> largest_;
  /// As largest_ has them.
  std::vector<double> sums_;
};

namespace detail {

inline constexpr std::int32_t kLargestGradient = 127;

/// The scale of quantized values of which the largest stands for `largest`. Up to 1e-30 all become
/// 0, because 1 / scale would leave float.
float gradient_scale(float largest);

}  // namespace detail
}  // namespace octet
