#pragma once

#include <octet/core/tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace octet {

/// What the outputs of a batch are held against: one class label per row, or a tensor with one row
/// per example, [n, target_shape...]. Converts to what a loss or a metric says that it takes:
///
///     Tensor by_class(const Tensor& output, std::span<const std::int32_t> labels);
///     Tensor by_value(const Tensor& output, const Tensor& target);
///
/// are both a Loss. Where the targets are of the other kind, they throw InvalidArgument.
class Targets {
 public:
  Targets() = default;
  // NOLINTBEGIN(google-explicit-constructor, hicpp-explicit-conversions): see above
  Targets(Labels labels) : labels_(std::move(labels)) {}
  Targets(std::span<const std::int32_t> labels) : labels_(labels.begin(), labels.end()) {}
  /// Throws InvalidArgument for an undefined tensor and for a scalar.
  Targets(Tensor values);

  operator std::span<const std::int32_t>() const { return labels(); }
  operator const Tensor&() const { return values(); }
  // NOLINTEND(google-explicit-constructor, hicpp-explicit-conversions)

  bool are_labels() const { return !values_.defined(); }
  /// The number of examples.
  std::size_t size() const;

  /// Throws InvalidArgument where the targets are a tensor.
  const Labels& labels() const;
  /// Throws InvalidArgument where the targets are class labels.
  const Tensor& values() const;

 private:
  Labels labels_;
  Tensor values_;
};

/// Labels as rows of 0 and 1, [labels.size(), classes]. Throws InvalidArgument for a label outside.
Tensor one_hot(std::span<const std::int32_t> labels, Index classes);

}  // namespace octet
