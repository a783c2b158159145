#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/ops/elementwise.h>
#include <octet/layers/graph.h>
#include <octet/layers/initializer.h>
#include <octet/layers/multi_head_attention.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace octet {
namespace {

enum : std::size_t { kQuery, kKey, kValue, kOutput };
constexpr std::array<std::string_view, 4> kProjections = {"query", "key", "value", "output"};

/// Which of so many sequences is the value; the last is the key.
std::size_t value_of(std::size_t sequences) { return sequences == 1 ? 0 : 1; }

/// How far below the others scores are that do not count.
constexpr float kDepth = 256.0F;

/// How far below the largest score of a row others still get a weight that int8 tells from 0, with
/// something left for rounding: exp(-10) is less than 1/512.
constexpr float kReach = 10.0F;

/// 0 where column j is at most row i, else -kDepth.
Tensor causal_bias(Index queries, Index keys) {
  Tensor bias = Tensor::zeros({queries, keys});
  for (Index i = 0; i < queries; ++i) {
    for (Index j = i + 1; j < keys; ++j) bias.mutable_at({i, j}) = -kDepth;
  }
  return bias;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(Index heads, Index key_dim,
                                       MultiHeadAttentionOptions options)
    : Layer(options.name), heads_(heads), key_dim_(key_dim), options_(std::move(options)) {
  if (heads < 1 || key_dim < 1) {
    throw InvalidArgument(
        fmt::format("MultiHeadAttention: expected at least 1 head of 1 column, found {} of {}",
                    heads, key_dim));
  }
  static_cast<void>(Shape({heads, key_dim}).size());  // Throws where it overflows.
}

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttention& other)
    : Layer(other), heads_(other.heads_), key_dim_(other.key_dim_), options_(other.options_) {
  for (const auto& [kernel, bias] : other.projections_) {
    projections_.push_back({clone_leaf(kernel), clone_leaf(bias)});
  }
}

GraphValue MultiHeadAttention::project(Graph& g, GraphValue x, std::size_t i,
                                       std::string_view suffix) const {
  const auto weights = [this, i] {
    const auto& [kernel, bias] = projections_[i];
    if (i != kQuery) return LayerWeights{.kernel = kernel, .bias = bias};
    const float scale = 1.0F / std::sqrt(static_cast<float>(key_dim_));
    return LayerWeights{.kernel = kernel * scale, .bias = bias * scale};
  };
  return g.linear(x, fmt::format("{}_kernel", kProjections.at(i)), weights, suffix);
}

/// Projection `i` of x as [heads, steps, key_dim].
GraphValue MultiHeadAttention::heads_of(Graph& g, GraphValue x, std::size_t i) const {
  const std::string name = fmt::format("/{}", kProjections.at(i));
  const GraphValue all = project(g, x, i, name);
  const GraphValue apart = g.reshape(all, {g.shape(x)[0], heads_, key_dim_}, name + "/columns");
  return g.transpose(apart, {1, 0, 2}, name + "/heads");
}

std::size_t MultiHeadAttention::sequences_in(std::size_t inputs) const {
  return options_.masked && inputs > 0 ? inputs - 1 : inputs;
}

GraphValue MultiHeadAttention::masked_scores(Graph& g, GraphValue scores,
                                             std::optional<GraphValue> mask) const {
  const Index queries = g.shape(scores)[1];
  const Index keys = g.shape(scores)[2];
  std::optional<GraphValue> bias;
  if (options_.causal) bias = g.parameter("causal_mask", causal_bias(queries, keys));
  if (mask) {
    const GraphValue row = g.reshape(*mask, {1, 1, keys}, "/mask/row");
    const GraphValue one = g.parameter("mask_of_valid", Tensor::ones({1}));
    const GraphValue depth = g.parameter("mask_depth", Tensor::full({1}, kDepth));
    const GraphValue missing = g.op(OpCode::sub, {row, one}, std::nullopt, "/mask/missing");
    const GraphValue low = g.op(OpCode::mul, {missing, depth}, std::nullopt, "/mask/bias");
    bias = bias ? g.op(OpCode::add, {low, *bias}, std::nullopt, "/mask/causal") : low;
  }
  if (!bias) return scores;
  const GraphValue masked = g.op(OpCode::add, {scores, *bias}, std::nullopt, "/scores/masked");
  g.end_range_below_rows(masked, kReach);
  return masked;
}

std::vector<GraphValue> MultiHeadAttention::emit(Graph& g,
                                                 std::span<const GraphValue> inputs) const {
  const auto sequences = inputs.first(sequences_in(inputs.size()));
  const GraphValue query = heads_of(g, sequences[0], kQuery);
  const GraphValue key = heads_of(g, sequences.back(), kKey);
  const GraphValue value = heads_of(g, sequences[value_of(sequences.size())], kValue);
  const GraphValue scores =
      g.op(OpCode::batch_matmul, {query, key}, BatchMatmulAttributes{.adj_y = true}, "/scores");
  const GraphValue masked =
      masked_scores(g, scores, options_.masked ? std::optional(inputs.back()) : std::nullopt);
  const GraphValue weights = g.op(OpCode::softmax, {masked}, std::nullopt, "/weights");
  const GraphValue context = g.op(OpCode::batch_matmul, {weights, value}, std::nullopt, "/context");
  const GraphValue steps = g.transpose(context, {1, 0, 2}, "/context/steps");
  const GraphValue joined =
      g.reshape(steps, {g.shape(steps)[0], heads_ * key_dim_}, "/context/joined");
  return {project(g, joined, kOutput, "")};
}

LayerTensors MultiHeadAttention::tensors() const {
  LayerTensors all;
  for (std::size_t i = 0; i < projections_.size(); ++i) {
    all.parameters.push_back(
        {fmt::format("{}_kernel", kProjections.at(i)), projections_[i].kernel});
    all.parameters.push_back({fmt::format("{}_bias", kProjections.at(i)), projections_[i].bias});
  }
  return all;
}

void MultiHeadAttention::describe(Description& description) const {
  description.set("heads", heads_).set("key_dim", key_dim_);
  // What older versions did not have is written where it is used.
  if (options_.causal) description.set("causal", true);
  if (options_.masked) description.set("masked", true);
}

std::unique_ptr<Layer> MultiHeadAttention::make(const Description& d) {
  MultiHeadAttentionOptions options;
  if (d.has("causal")) options.causal = d.flag("causal");
  if (d.has("masked")) options.masked = d.flag("masked");
  return std::make_unique<MultiHeadAttention>(d.integer("heads"), d.integer("key_dim"),
                                              std::move(options));
}

bool MultiHeadAttention::fits(std::span<const Shape> inputs) const {
  const auto is_sequence = [](const Shape& shape) { return shape.rank() == 2 && shape[0] > 0; };
  const auto sequences = inputs.first(sequences_in(inputs.size()));
  if (sequences.empty() || sequences.size() > 3 || !std::ranges::all_of(sequences, is_sequence)) {
    return false;
  }
  const Index keys = sequences.back()[0];
  if (sequences[value_of(sequences.size())][0] != keys) return false;
  return !options_.masked || inputs.back() == Shape{keys} || inputs.back() == Shape{keys, 1};
}

void MultiHeadAttention::make_tensors(std::span<const Shape> shapes, const Random& random) {
  if (!fits(shapes)) {
    std::string found;
    for (const Shape& shape : shapes) found += (found.empty() ? "" : ", ") + shape.to_string();
    throw InvalidArgument(fmt::format(
        "{} \"{}\": expected sequences [steps, features] as query, value and key, the last two of "
        "as many steps of at least 1{}, found {}",
        kType, name(),
        options_.masked ? ", and behind them the mask [steps] or [steps, 1] of these" : "", found));
  }
  const auto inputs = shapes.first(sequences_in(shapes.size()));
  const Index columns = heads_ * key_dim_;
  const Index features = inputs[0][1];
  const std::array<Index, 4> widths = {features, inputs.back()[1],
                                       inputs[value_of(inputs.size())][1], columns};
  projections_.clear();
  for (std::size_t i = 0; i < kProjections.size(); ++i) {
    const Index from = widths.at(i);
    const Index to = i == kOutput ? features : columns;
    projections_.push_back(
        {initialize(Initializer::glorot_uniform, {from, to}, from, to, random.fork(i)),
         Tensor::zeros({to})});
    projections_.back().kernel.set_requires_grad(true);
    projections_.back().bias.set_requires_grad(true);
  }
}

}  // namespace octet
