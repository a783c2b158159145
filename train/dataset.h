#pragma once

#include <octet/core/function_ref.h>
#include <octet/core/shape.h>
#include <octet/core/tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace octet {

/// Examples with a class label each. Features are kept as bytes, as they come in image files, and
/// turned into floats a batch at a time, where somebody asks for floats: x = byte / 255; or as
/// floats where they are not bytes.
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

  const std::string& name() const { return name_; }
  std::size_t size() const { return labels_.size(); }
  bool empty() const { return labels_.empty(); }
  const Shape& example_shape() const { return example_shape_; }
  /// Labels are in [0, classes()).
  int classes() const { return classes_; }
  std::span<const std::int32_t> labels() const { return labels_; }
  /// The raw bytes; empty for a set made from floats.
  std::span<const std::uint8_t> bytes() const { return bytes_; }

  /// The examples at `rows`, as floats [rows.size(), example_shape...]. Throws InvalidArgument for
  /// a row outside the set.
  Tensor features(std::span<const std::uint32_t> rows) const;
  /// Examples [begin, end) as floats. Throws InvalidArgument unless begin <= end <= size().
  Tensor features(std::size_t begin, std::size_t end) const;

  /// The labels at `rows`. Throws InvalidArgument for a row outside the set.
  Labels labels(std::span<const std::uint32_t> rows) const;

  /// The first `count` examples (all where there are fewer).
  Dataset head(std::size_t count) const;

 private:
  Dataset(std::string name, Shape example_shape, std::vector<std::int32_t> labels, int classes,
          std::size_t values);

  /// Examples row(0) to row(count - 1).
  Tensor gather(std::size_t count, FunctionRef<std::size_t(std::size_t)> row) const;
  void prefetch_row(std::size_t row) const;
  void check_rows(std::span<const std::uint32_t> rows) const;

  std::string name_;
  Shape example_shape_;
  std::size_t example_size_ = 1;
  int classes_ = 0;
  std::vector<std::uint8_t> bytes_;
  std::vector<float> floats_;
  std::vector<std::int32_t> labels_;
};

/// A training set and the test set that goes with it.
struct DataSplit {
  Dataset train;
  Dataset test;
};

}  // namespace octet
