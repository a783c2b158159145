#pragma once

#include <octet/layers/layer.h>

namespace octet {

struct SelfAttentionOptions {
  std::string name{};
};

/// Attention of sequences [steps, features] to themselves (Vaswani et al., Attention Is All You
/// Need, 2017), as Keras' MultiHeadAttention(heads, key_dim) of one value for query, key and value.
/// With q, k and v = x W + b of d = key_dim columns a head:
///
///   y = concat over the heads(softmax(q k' / sqrt(d)) v) Wo + bo
///
/// Parameters: "query_kernel", "key_kernel" and "value_kernel" [features, heads d], "output_kernel"
/// [heads d, features], and a bias for each, "query_bias" and so on. 1 / sqrt(d) is part of the
/// query's weights as operators have them.
class SelfAttention : public Layer {
 public:
  static constexpr std::string_view kType = "SelfAttention";
  static std::unique_ptr<Layer> make(const Description& description);

  /// Throws InvalidArgument for less than 1 head or column, or more than tensors hold.
  SelfAttention(Index heads, Index key_dim, SelfAttentionOptions options = {});
  SelfAttention(const SelfAttention& other);

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  std::vector<NamedTensor> parameters() const override;
  void describe(Description& description) const override;
  std::vector<std::pair<std::string, Shape>> large_tensors(const Shape& input) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<SelfAttention>(*this); }

 protected:
  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override;

 private:
  struct Projection {
    Tensor kernel;
    Tensor bias;
  };
  GraphValue project(Graph& g, GraphValue x, std::size_t i, std::string_view suffix) const;
  GraphValue heads_of(Graph& g, GraphValue x, std::size_t i) const;

  Index heads_;
  Index key_dim_;
  /// Query, key, value and output.
  std::vector<Projection> projections_;
};

}  // namespace octet
