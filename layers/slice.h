#pragma once

#include <octet/core/ops/shape_ops.h>
#include <octet/layers/layer.h>

namespace octet {

struct SliceOptions {
  /// 0 is the first axis after the batch; a negative axis counts from the end.
  Index axis = -1;
  /// The first element that is taken, counted from 0, and how many are.
  Index begin = 0;
  Index size = 1;
  std::string name{};
  /// How far these lie apart.
  Index step = 1;
};

/// Takes `size` elements of an axis, from `begin` on: y[.., i, ..] = x[.., begin + i step, ..], so
/// that examples [.., extent, ..] become [.., size, ..]; the gradient of what is not taken is 0.
/// (ONNX' Slice, TensorFlow's tf.strided_slice.) Quantized, its result has the scale and the zero
/// point of what it reads. build() throws InvalidArgument for an axis that the input does not have,
/// and unless begin >= 0, size >= 1, step >= 1 and begin + (size - 1) step < extent.
class Slice : public Layer {
 public:
  static constexpr std::string_view kType = "Slice";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit Slice(SliceOptions options);

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Slice>(*this); }

 protected:
  Index axis() const { return options_.axis; }
  /// What is taken of axis `axis`, counted from the front, of examples of this shape. Throws
  /// InvalidArgument, naming the layer, where the axis does not have it.
  virtual AxisSlice taken(const Shape& examples, Index axis) const;

 private:
  SliceOptions options_;
};

/// Part number `part`, from 0 on, of the `parts` equal parts that an axis is cut into: the Slice
/// from part * extent / parts on. Model::split() adds one for each part. build() throws
/// InvalidArgument for an axis that the input does not have, or whose extent is no multiple of
/// `parts`.
class SplitPart : public Slice {
 public:
  static constexpr std::string_view kType = "SplitPart";
  static std::unique_ptr<Layer> make(const Description& description);

  /// Throws InvalidArgument unless 0 <= part < parts.
  SplitPart(Index parts, Index part, Index axis = -1, std::string name = "");

  std::string_view type() const override { return kType; }
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<SplitPart>(*this); }

 protected:
  AxisSlice taken(const Shape& examples, Index axis) const override;

 private:
  Index parts_;
  Index part_;
};

}  // namespace octet
