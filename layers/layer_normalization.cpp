#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/graph.h>
#include <octet/layers/layer_normalization.h>

#include <cmath>

namespace octet {

RowNormalization::RowNormalization(std::string_view type, Mean mean,
                                   LayerNormalizationOptions options)
    : Layer(options.name), mean_(mean), options_(std::move(options)) {
  if (std::isfinite(options_.epsilon) && options_.epsilon > 0.0F) return;
  throw InvalidArgument(
      fmt::format("{}: expected a finite epsilon above 0, found {}", type, options_.epsilon));
}

RowNormalization::RowNormalization(const RowNormalization& other)
    : Layer(other),
      mean_(other.mean_),
      options_(other.options_),
      gamma_(clone_leaf(other.gamma_)),
      beta_(clone_leaf(other.beta_)) {}

/// The mean of each row, and `bias`.
GraphValue RowNormalization::mean_of(Graph& g, GraphValue x, std::string_view name,
                                     float bias) const {
  const Index features = g.shape(x).dim(-1);
  LayerWeights weights{.kernel = Tensor::full({features, 1}, 1.0F / static_cast<float>(features)),
                       .bias = bias == 0.0F ? Tensor() : Tensor::full({1}, bias)};
  return g.linear(
      x, fmt::format("{}_kernel", name), [weights] { return weights; }, fmt::format("/{}", name));
}

/// gamma and beta as a convolution of each channel alone.
LayerWeights RowNormalization::affine() const {
  const Index features = (gamma_.defined() ? gamma_ : beta_).size();
  const Tensor gamma = gamma_.defined() ? gamma_ : Tensor::ones({features});
  return {.kernel = gamma.reshape({1, 1, 1, features}),
          .bias = beta_,
          .unit_axis = 3,
          .convolution = Conv2DOptions{.groups = features},
          .depthwise = true};
}

std::vector<GraphValue> RowNormalization::emit(Graph& g, std::span<const GraphValue> inputs) const {
  const auto op = [&g](OpCode code, const std::vector<GraphValue>& read, std::string_view suffix) {
    return g.op(code, read, std::nullopt, suffix);
  };
  GraphValue x = inputs[0];
  if (mean_ == Mean::subtracted) {
    x = op(OpCode::sub, {x, mean_of(g, x, "mean", 0.0F)}, "/centered");
  }
  const GraphValue squares = op(OpCode::mul, {x, x}, "/squares");
  const GraphValue power = mean_of(g, squares, "power", options_.epsilon);
  const GraphValue factor = op(OpCode::rsqrt, {power}, "/factor");
  const bool learns = options_.scale || options_.center;
  const GraphValue y = op(OpCode::mul, {x, factor}, learns ? "/normalized" : "");
  if (!learns) return {y};
  const Shape example = g.shape(y);
  const Index features = example.dim(-1);
  const GraphValue rows =
      g.reshape(y, {1, example.size() / features, features}, "/normalized/rows");
  const auto weights = [this] { return affine(); };
  return {g.reshape(g.linear(rows, "gamma_kernel", weights, "/rows"), example)};
}

LayerTensors RowNormalization::tensors() const {
  LayerTensors all;
  if (gamma_.defined()) all.parameters.push_back({"gamma", gamma_});
  if (beta_.defined()) all.parameters.push_back({"beta", beta_});
  return all;
}

void RowNormalization::make_tensors(std::span<const Shape> input_shapes, const Random& /*random*/) {
  const Shape& input_shape = input_shapes[0];
  if (input_shape.rank() == 0 || input_shape.size() == 0) {
    throw InvalidArgument(
        fmt::format("{} \"{}\": expected examples [.., features] with at least 1 value, found {}",
                    type(), name(), input_shape.to_string()));
  }
  const Shape features = {input_shape.dim(-1)};
  if (options_.scale) gamma_ = Tensor::ones(features).set_requires_grad(true);
  if (options_.center) beta_ = Tensor::zeros(features).set_requires_grad(true);
}

void LayerNormalization::describe(Description& description) const {
  description.set("epsilon", double{options().epsilon})
      .set("center", options().center)
      .set("scale", options().scale);
}

std::unique_ptr<Layer> LayerNormalization::make(const Description& d) {
  return std::make_unique<LayerNormalization>(LayerNormalizationOptions{
      .epsilon = d.float_number("epsilon"), .center = d.flag("center"), .scale = d.flag("scale")});
}

void RMSNormalization::describe(Description& description) const {
  description.set("epsilon", double{options().epsilon});
}

std::unique_ptr<Layer> RMSNormalization::make(const Description& d) {
  return std::make_unique<RMSNormalization>(
      RMSNormalizationOptions{.epsilon = d.float_number("epsilon")});
}

}  // namespace octet
