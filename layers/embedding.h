#pragma once

#include <octet/layers/layer.h>

namespace octet {

/// Looks vectors up in a trained table: y[.., :] = W[x[..], :] for indices x, whole numbers from 0
/// to input_dim - 1, which are held as floats (a fraction is dropped). Examples [..] become [..,
/// output_dim]; Keras' Embedding. Parameter: "embeddings" [input_dim, output_dim], uniform in
/// [-0.05, 0.05]; rows that no index names have a gradient of 0. Quantized, W has int8 values, one
/// scale and a zero point, and so has y; the indices stay float32, and are no input that is
/// quantized. Files hold it as CAST and GATHER; C source takes the indices as int32. The
/// constructor throws InvalidArgument for extents below 1, forward() for an index outside of the
/// table.
class Embedding : public Layer {
 public:
  static constexpr std::string_view kType = "Embedding";
  static std::unique_ptr<Layer> make(const Description& description);

  Embedding(Index input_dim, Index output_dim, std::string name = "");
  Embedding(const Embedding& other);

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  LayerTensors tensors() const override { return {.parameters = {{"embeddings", embeddings_}}}; }
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Embedding>(*this); }

 protected:
  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override;

 private:
  Index input_dim_;
  Index output_dim_;
  Tensor embeddings_;
};

}  // namespace octet
