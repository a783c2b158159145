#pragma once

#include <octet/layers/model.h>

#include <cstddef>
#include <span>
#include <vector>

namespace octet::detail {

/// What a forward pass in training changes of a model: state, counters, parameters of quantizers,
/// which follow the observed range until an optimizer moves them, and kernels whose oscillating
/// weights are frozen.
///
/// Shards of one batch all start from the same values, and what they leave is merged:
///
/// - the smallest minimum and the largest maximum of the ranges that quantizers observed, which is
///   the range that an observer of the whole batch would have: each bound depends on that of the
///   batch alone, and rises with it;
/// - the mean of all other state, weighted by rows: moving statistics of batch normalization;
/// - all else as the first shard left it: counters are of steps, or of codes of weights.
class TrainingState {
 public:
  explicit TrainingState(const Model& model);

  /// All values, to put back.
  std::vector<float> values() const;
  std::size_t size() const { return size_; }
  void restore(std::span<const float> values);

  /// The numbers of values that merge() takes as sums, and as smallest ones.
  std::size_t sums() const { return sums_; }
  std::size_t least() const { return least_; }
  /// `rows` times each value whose mean is taken.
  std::vector<double> weighted(std::size_t rows) const;
  /// Minima, and maxima with their sign changed.
  std::vector<double> bounds() const;
  /// Takes over what the shards of a batch of `rows` come to, over the values that the first of
  /// them has left.
  void merge(std::span<const double> sums, std::span<const double> least, std::size_t rows);

 private:
  std::vector<Tensor> all_;
  std::vector<Tensor> averaged_;
  std::vector<Quantizer*> quantizers_;
  std::size_t size_ = 0;
  std::size_t sums_ = 0;
  std::size_t least_ = 0;
};

}  // namespace octet::detail
