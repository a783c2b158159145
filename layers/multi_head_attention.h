#pragma once

#include <octet/layers/layer.h>

#include <optional>

namespace octet {

struct MultiHeadAttentionOptions {
  /// Whether position i of the query attends to the positions 0 to i of the key alone (Keras'
  /// use_causal_mask), so that no result depends on what comes later.
  bool causal = false;
  /// Whether one input more, the last, is a mask of the key's positions, [steps] or [steps, 1]: 1
  /// where a step counts, 0 where it only fills a sequence up to the length of others, to which
  /// nothing attends.
  bool masked = false;
  std::string name{};
};

/// Attention of sequences to sequences (Vaswani et al., Attention Is All You Need, 2017), as in
/// Keras. Reads up to three inputs: the query [steps, features], the value and the key, both of as
/// many positions; a key that is missing is the value, a value that is missing the query, which
/// then attends to itself. With q, k and v = x W + b of d = key_dim columns a head:
///
///   y = concat over the heads(softmax(q k' / sqrt(d) + b) v) Wo + bo
///
/// b is 0 where a query may attend to a key, and -256 where options forbid it, which leaves a
/// weight of 0 for any scores that lie less than 150 apart; there is none without such an option.
/// Quantized, the scale of the sum is that of the scores that count and of 10 below the largest of
/// each row, a weight of less than 1/512 that becomes 0.
///
/// Parameters: "query_kernel", "key_kernel" and "value_kernel" [features, heads d], each with the
/// features of its input, "output_kernel" [heads d, features of the query], and a bias for each,
/// "query_bias" and so on. 1 / sqrt(d) is part of the query's weights as operators have them.
/// build() throws InvalidArgument for other inputs.
class MultiHeadAttention : public Layer {
 public:
  static constexpr std::string_view kType = "MultiHeadAttention";
  static std::unique_ptr<Layer> make(const Description& description);

  /// Throws InvalidArgument for less than 1 head or column, or more than tensors hold.
  MultiHeadAttention(Index heads, Index key_dim, MultiHeadAttentionOptions options = {});
  MultiHeadAttention(const MultiHeadAttention& other);

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  LayerTensors tensors() const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override {
    return std::make_unique<MultiHeadAttention>(*this);
  }

 protected:
  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override;

 private:
  /// Which of so many inputs, the mask among them, are sequences.
  std::size_t sequences_in(std::size_t inputs) const;
  /// Scores [heads, queries, keys] of which those that do not count are far below the others.
  GraphValue masked_scores(Graph& g, GraphValue scores, std::optional<GraphValue> mask) const;
  bool fits(std::span<const Shape> inputs) const;

  struct Projection {
    Tensor kernel;
    Tensor bias;
  };
  GraphValue project(Graph& g, GraphValue x, std::size_t i, std::string_view suffix) const;
  GraphValue heads_of(Graph& g, GraphValue x, std::size_t i) const;

  Index heads_;
  Index key_dim_;
  MultiHeadAttentionOptions options_;
  /// Query, key, value and output.
  std::vector<Projection> projections_;
};

}  // namespace octet
