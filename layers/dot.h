#pragma once

#include <octet/layers/layer.h>

#include <array>

namespace octet {

/// Products of the vectors of two values along one axis of each, as in Keras: of [n] and [n] one
/// number, [1], of matrices [.., n, ..] and [.., n, ..] the matrix of what their other axes give,
/// those of the first input in front. The operator is BATCH_MATMUL.
///
///     model.add(Dot({2, 2}), {a, b});   // [r, n] and [s, n] to [r, s]
///
/// build() throws InvalidArgument for other than two examples of 1 or 2 axes, for an axis that they
/// do not have, and where the extents of both axes differ.
class Dot : public Layer {
 public:
  static constexpr std::string_view kType = "Dot";
  static std::unique_ptr<Layer> make(const Description& description);

  /// `axes` are counted from 1, as Keras counts them, which leaves 0 to the batch; negative ones
  /// from the back.
  explicit Dot(std::array<Index, 2> axes = {-1, -1}, std::string name = "")
      : Layer(std::move(name)), axes_(axes) {}

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Dot>(*this); }

 private:
  /// The axis of input `i`, of this shape, counted from 0 on; -1 where it does not have it.
  Index counted(const Shape& shape, std::size_t i) const;
  /// Throws InvalidArgument for shapes that do not fit.
  Shape shape_of_products(std::span<const Shape> inputs) const;

  std::array<Index, 2> axes_;
};

}  // namespace octet
