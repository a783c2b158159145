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

/// Which of so many inputs is the value; the last is the key.
std::size_t value_of(std::size_t inputs) { return inputs == 1 ? 0 : 1; }

}  // namespace

MultiHeadAttention::MultiHeadAttention(Index heads, Index key_dim,
                                       MultiHeadAttentionOptions options)
    : Layer(std::move(options.name)), heads_(heads), key_dim_(key_dim) {
  if (heads < 1 || key_dim < 1) {
    throw InvalidArgument(
        fmt::format("MultiHeadAttention: expected at least 1 head of 1 column, found {} of {}",
                    heads, key_dim));
  }
  static_cast<void>(Shape({heads, key_dim}).size());  // Throws where it overflows.
}

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttention& other)
    : Layer(other), heads_(other.heads_), key_dim_(other.key_dim_) {
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

std::vector<GraphValue> MultiHeadAttention::emit(Graph& g,
                                                 std::span<const GraphValue> inputs) const {
  const GraphValue query = heads_of(g, inputs[0], kQuery);
  const GraphValue key = heads_of(g, inputs.back(), kKey);
  const GraphValue value = heads_of(g, inputs[value_of(inputs.size())], kValue);
  const GraphValue scores =
      g.op(OpCode::batch_matmul, {query, key}, BatchMatmulAttributes{.adj_y = true}, "/scores");
  const GraphValue weights = g.op(OpCode::softmax, {scores}, std::nullopt, "/weights");
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
}

std::unique_ptr<Layer> MultiHeadAttention::make(const Description& d) {
  return std::make_unique<MultiHeadAttention>(d.integer("heads"), d.integer("key_dim"));
}

void MultiHeadAttention::make_tensors(std::span<const Shape> inputs, const Random& random) {
  const auto is_sequence = [](const Shape& shape) { return shape.rank() == 2 && shape[0] > 0; };
  const bool fits = !inputs.empty() && inputs.size() <= 3 &&
                    std::ranges::all_of(inputs, is_sequence) &&
                    inputs[value_of(inputs.size())][0] == inputs.back()[0];
  if (!fits) {
    std::string found;
    for (const Shape& shape : inputs) found += (found.empty() ? "" : ", ") + shape.to_string();
    throw InvalidArgument(fmt::format(
        "{} \"{}\": expected sequences [steps, features] as query, value and key, the last two of "
        "as many steps of at least 1, found {}",
        kType, name(), found));
  }
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
