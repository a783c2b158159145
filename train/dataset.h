#pragma once

#include <octet/core/function_ref.h>
#include <octet/core/shape.h>
#include <octet/core/tensor.h>
#include <octet/train/targets.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace octet {

/// Features [n, example_shape...] and their n targets.
struct Batch {
  Tensor features;
  Targets targets;
};

/// Examples, each with a class label or with a tensor as its target. Features are kept as bytes, as
/// they come in image files, and turned into floats a batch at a time, where somebody asks for
/// floats: x = byte / 255; or as floats where they are not bytes.
class Dataset {
 public:
  Dataset() = default;

  /// `pixels` holds labels.size() examples of `example_shape`, row-major; x = pixel / 255.
  /// Throws InvalidArgument where sizes disagree or a label is outside [0, classes).
  static Dataset from_bytes(std::string name, Shape example_shape, std::vector<std::uint8_t> pixels,
                            std::vector<std::int32_t> labels, int classes);

  /// The same from floats, used as they are.
  static Dataset from_floats(std::string name, Shape example_shape, std::vector<float> values,
                             std::vector<std::int32_t> labels, int classes);

  /// Features [n, ...] with targets [n, ...], e.g. [n, 1] for one number per example: regression,
  /// several labels at once as 0 and 1, or distributions over classes. Both are copied. Throws
  /// InvalidArgument unless both have n rows of at least one value.
  static Dataset from_tensors(std::string name, const Tensor& features, const Tensor& targets);

  /// The same examples with these targets instead, [size(), ...]: images with several labels at
  /// once, say. Throws InvalidArgument for another number of rows.
  Dataset with_targets(const Tensor& targets) const;

  const std::string& name() const { return name_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Shape& example_shape() const { return example_shape_; }

  /// Whether the targets are class labels; else they are tensors of target_shape().
  bool has_labels() const { return !target_shape_; }
  /// Labels are in [0, classes()); 0 where the targets are tensors.
  int classes() const { return classes_; }
  /// All labels. Throws InvalidArgument where the targets are tensors.
  std::span<const std::int32_t> labels() const;
  /// The shape of one example's target. Throws InvalidArgument where targets are labels.
  const Shape& target_shape() const;

  /// The raw bytes; empty for a set made from floats.
  std::span<const std::uint8_t> bytes() const { return bytes_; }

  /// The examples at `rows`, as floats [rows.size(), example_shape...]. Throws InvalidArgument for
  /// a row outside the set.
  Tensor features(std::span<const std::uint32_t> rows) const;
  /// Examples [begin, end) as floats. Throws InvalidArgument unless begin <= end <= size().
  Tensor features(std::size_t begin, std::size_t end) const;

  /// The targets at `rows`, and of examples [begin, end). Throw InvalidArgument as features().
  Targets targets(std::span<const std::uint32_t> rows) const;
  Targets targets(std::size_t begin, std::size_t end) const;

  /// Features and targets together.
  Batch batch(std::span<const std::uint32_t> rows) const { return {features(rows), targets(rows)}; }
  Batch batch(std::size_t begin, std::size_t end) const {
    return {features(begin, end), targets(begin, end)};
  }

  /// The first `count` examples (all where there are fewer).
  Dataset head(std::size_t count) const;

 private:
  Dataset(std::string name, Shape example_shape, std::size_t size, std::size_t values);

  void set_labels(std::vector<std::int32_t> labels, int classes);
  void set_targets(const Tensor& targets);
  /// Examples row(0) to row(count - 1).
  Tensor gather(std::size_t count, FunctionRef<std::size_t(std::size_t)> row) const;
  void prefetch_row(std::size_t row) const;
  /// Row i of the result is the target of example row(i).
  Targets gather_targets(std::size_t count, FunctionRef<std::size_t(std::size_t)> row) const;
  void check_rows(std::span<const std::uint32_t> rows) const;
  void check_range(std::size_t begin, std::size_t end) const;

  std::string name_;
  Shape example_shape_;
  std::size_t example_size_ = 1;
  std::size_t size_ = 0;
  std::vector<std::uint8_t> bytes_;
  std::vector<float> floats_;
  int classes_ = 0;
  std::vector<std::int32_t> labels_;
  /// None where the targets are labels.
  std::optional<Shape> target_shape_;
  std::vector<float> targets_;
};

/// A training set and the test set that goes with it.
struct DataSplit {
  Dataset train;
  Dataset test;
};

}  // namespace octet
