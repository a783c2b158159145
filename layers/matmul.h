#pragma once

#include <octet/layers/layer.h>

namespace octet {

struct MatMulOptions {
  /// Whether the matrices of that input are read as [k, n], and [m, k].
  bool transpose_first = false;
  bool transpose_second = false;
  std::string name{};
};

/// Products of the matrices of two values, [.., n, k] and [.., k, m] to [.., n, m], as NumPy's
/// matmul and ONNX' MatMul: the axes in front are the same in both. The operator is BATCH_MATMUL.
/// build() throws InvalidArgument for other than two examples of as many axes, 2 or more, and where
/// their extents do not fit.
class MatMul : public Layer {
 public:
  static constexpr std::string_view kType = "MatMul";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit MatMul(MatMulOptions options = {}) : Layer(options.name), options_(std::move(options)) {}

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<MatMul>(*this); }

 private:
  MatMulOptions options_;
};

}  // namespace octet
