#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/dropout.h>
#include <octet/layers/graph.h>
#include <octet/layers/image_layer.h>

namespace octet {

namespace {

float scale_of_kept(float rate) { return 1.0F / (1.0F - rate); }

/// With draw number draw_of(i) for value i.
template <class DrawOf>
Tensor dropped(const Tensor& x, float rate, const Random& random, DrawOf draw_of) {
  Tensor mask(x.shape());
  const float kept = scale_of_kept(rate);
  parallel_for(static_cast<std::size_t>(x.size()), parallel_grain(Work::draw_uniforms),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   mask.mutable_data()[i] = random.uniform(draw_of(i)) < rate ? 0.0F : kept;
                 }
               });
  Tensor y = x * mask;
  if (const auto& from = x.quantization()) {
    // The quantized values of x stay those of y: a dropped one is the zero point, the others have a
    // larger scale.
    auto grid = std::make_shared<QuantParams>(*from);
    for (float& scale : grid->scales) scale *= kept;
    detail::TensorAccess::set_quantization(y, std::move(grid));
  }
  return y;
}

/// A function that drops with the numbers that draws_of(x) says.
template <class DrawsOf>
TensorFunction drops(float rate, DrawsOf draws_of) {
  const auto run = [rate, draws_of](std::span<const Tensor> x, const ForwardContext& context,
                                    FusedActivation /*clamp*/) {
    if (!context.training() || rate == 0.0F) return x[0];
    return dropped(x[0], rate, context.random, draws_of(x[0]));
  };
  return {.run = run, .only_trains = true, .training_range = scale_of_kept(rate)};
}

}  // namespace

TensorFunction drop_channels(float rate) {
  return drops(rate, [](const Tensor& x) {
    const auto channels = static_cast<std::size_t>(x.dim(-1));
    const auto example = static_cast<std::size_t>(x.shape().without_batch().size());
    return [channels, example](std::size_t i) { return i / example * channels + i % channels; };
  });
}

Dropout::Dropout(float rate, std::string name) : Dropout(rate, Unit::value, std::move(name)) {}

Dropout::Dropout(float rate, Unit unit, std::string name)
    : Layer(std::move(name)), rate_(rate), unit_(unit) {
  if (!(rate >= 0.0F && rate < 1.0F)) {
    throw InvalidArgument(fmt::format("Dropout: expected a rate in [0, 1), found {}", rate));
  }
}

std::vector<GraphValue> Dropout::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  const auto each = [](const Tensor& /*x*/) { return [](std::size_t i) { return i; }; };
  return {graph.function(inputs, graph.shape(inputs[0]),
                         unit_ == Unit::channel ? drop_channels(rate_) : drops(rate_, each))};
}

void Dropout::describe(Description& description) const { description.set("rate", double{rate_}); }

std::unique_ptr<Layer> Dropout::clone() const { return std::make_unique<Dropout>(*this); }

std::unique_ptr<Layer> Dropout::make(const Description& d) {
  return std::make_unique<Dropout>(d.float_number("rate"));
}

std::unique_ptr<Layer> SpatialDropout1D::make(const Description& d) {
  return std::make_unique<SpatialDropout1D>(d.float_number("rate"));
}

std::vector<GraphValue> SpatialDropout1D::emit(Graph& graph,
                                               std::span<const GraphValue> inputs) const {
  detail::require_sequences(*this, graph.shape(inputs[0]));
  return Dropout::emit(graph, inputs);
}

std::unique_ptr<Layer> SpatialDropout2D::make(const Description& d) {
  return std::make_unique<SpatialDropout2D>(d.float_number("rate"));
}

std::vector<GraphValue> SpatialDropout2D::emit(Graph& graph,
                                               std::span<const GraphValue> inputs) const {
  detail::require_images(*this, graph.shape(inputs[0]));
  return Dropout::emit(graph, inputs);
}

}  // namespace octet
