#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/layers/activation_function.h>
#include <octet/layers/graph.h>
#include <octet/layers/image_layer.h>
#include <octet/layers/initializer.h>
#include <octet/layers/svdf.h>

#include <utility>

namespace octet {

SVDF::SVDF(Index units, Index memory_size, Activation activation, SVDFOptions options)
    : Layer(options.name),
      units_(units),
      memory_size_(memory_size),
      activation_(activation),
      options_(std::move(options)) {
  detail::require_above_0(kType, "a number of units", units_);
  detail::require_above_0(kType, "a memory size", memory_size_);
  detail::require_above_0(kType, "a rank", options_.rank);
  if (options_.padding == Padding::same) {
    throw InvalidArgument(
        "SVDF: expected padding causal or valid, found same, which would look ahead");
  }
  if (quantizes_before(activation_)) {
    throw InvalidArgument(fmt::format(
        "SVDF: expected activation none, relu or relu6, found {}; add an activation layer "
        "after it",
        to_string(activation_)));
  }
  // Throws where it overflows.
  static_cast<void>(Shape({units_, options_.rank, memory_size_}).size());
}

SVDF::SVDF(const SVDF& other)
    : Layer(other),
      units_(other.units_),
      memory_size_(other.memory_size_),
      activation_(other.activation_),
      options_(other.options_),
      feature_kernel_(clone_leaf(other.feature_kernel_)),
      time_kernel_(clone_leaf(other.time_kernel_)),
      bias_(clone_leaf(other.bias_)) {}

/// Each filter's weights of the last steps; the bias of a unit belongs to its first filter.
LayerWeights SVDF::over_time() const {
  Tensor bias = bias_;
  if (bias.defined() && options_.rank > 1) {
    const Tensor none = Tensor::zeros({units_, options_.rank - 1});
    bias = concatenate({bias.reshape({units_, 1}), none}, 1).reshape({filters()});
  }
  return {.kernel = time_kernel_.reshape({1, memory_size_, 1, filters()}),
          .bias = bias,
          .unit_axis = 3,
          .convolution = Conv2DOptions{.padding = options_.padding, .groups = filters()},
          .depthwise = true};
}

std::vector<GraphValue> SVDF::emit(Graph& g, std::span<const GraphValue> inputs) const {
  const GraphValue seen = g.linear(
      inputs[0], "feature_kernel",
      [this] { return LayerWeights{.kernel = feature_kernel_, .bias = {}}; }, "/feature");
  const Index steps = g.shape(seen)[0];
  const GraphValue image = g.reshape(seen, {1, steps, filters()}, "/image");
  const GraphValue line = g.linear(
      image, "time_kernel", [this] { return over_time(); }, "/time");
  const Index results = g.shape(line)[1];
  const bool is_one = options_.rank == 1;
  const bool ends = is_one && activation_ == Activation::none;
  const GraphValue weighed = g.reshape(line, {results, filters()}, ends ? "" : "/filters");
  GraphValue sum = weighed;
  for (Index r = 0; !is_one && r < options_.rank; ++r) {
    const GraphValue part =
        g.slice(weighed, {{0, results}, {r, filters(), options_.rank}}, "/part");
    const bool is_last = r + 1 == options_.rank;
    const BinaryAttributes clamped{.activation =
                                       fused_activation(is_last ? activation_ : Activation::none)};
    sum = r == 0 ? part : g.op(OpCode::add, {sum, part}, clamped, is_last ? "" : "/sum");
  }
  return {is_one ? g.activate(sum, activation_) : sum};
}

LayerTensors SVDF::tensors() const {
  LayerTensors all{
      .parameters = {{"feature_kernel", feature_kernel_}, {"time_kernel", time_kernel_}}};
  if (bias_.defined()) all.parameters.push_back({"bias", bias_});
  return all;
}

void SVDF::describe(Description& description) const {
  description.set("units", units_)
      .set("memory_size", memory_size_)
      .set("rank", options_.rank)
      .set("padding", to_string(options_.padding))
      .set("activation", to_string(activation_))
      .set("use_bias", options_.use_bias);
}

std::unique_ptr<Layer> SVDF::make(const Description& d) {
  return std::make_unique<SVDF>(d.integer("units"), d.integer("memory_size"),
                                parse_activation(d.text("activation")),
                                SVDFOptions{.rank = d.integer("rank"),
                                            .padding = parse_padding(d.text("padding")),
                                            .use_bias = d.flag("use_bias")});
}

void SVDF::make_tensors(std::span<const Shape> input_shapes, const Random& random) {
  const Shape& input_shape = input_shapes[0];
  detail::require_sequences(*this, input_shape);
  const Index features = input_shape[1];
  feature_kernel_ = initialize(Initializer::glorot_uniform, {features, filters()}, features,
                               filters(), random.fork(0))
                        .set_requires_grad(true);
  time_kernel_ = initialize(Initializer::glorot_uniform, {memory_size_, filters()}, memory_size_,
                            memory_size_, random.fork(1))
                     .set_requires_grad(true);
  if (options_.use_bias) bias_ = Tensor::zeros({units_}).set_requires_grad(true);
}

}  // namespace octet
