#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/log.h>
#include <octet/core/ops/batch_norm_internal.h>
#include <octet/layers/activation_function.h>
#include <octet/layers/batch_norm.h>
#include <octet/layers/graph.h>

#include <cmath>
#include <utility>

namespace octet {
namespace {

/// moving += (1 - momentum) (factor * batch - moving).
void move_towards(Tensor moving, const Tensor& batch, double factor, double momentum) {
  const std::span<float> values = moving.mutable_span();
  const std::span<const float> target = batch.span();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto old = double{values[i]};
    values[i] = static_cast<float>(old + (1.0 - momentum) * (factor * double{target[i]} - old));
  }
}

}  // namespace

BatchNorm::BatchNorm(BatchNormOptions options) : Layer(options.name), options_(std::move(options)) {
  if (!(options_.momentum >= 0.0F && options_.momentum <= 1.0F)) {
    throw InvalidArgument(
        fmt::format("BatchNorm: expected a momentum between 0 and 1, found {}", options_.momentum));
  }
  if (!(std::isfinite(options_.epsilon) && options_.epsilon > 0.0F)) {
    throw InvalidArgument(
        fmt::format("BatchNorm: expected a finite epsilon above 0, found {}", options_.epsilon));
  }
}

Tensor BatchNorm::normalized(const Tensor& x, const ForwardContext& context,
                             FusedActivation clamp) const {
  if (!context.training() || !trainable()) {
    const Tensor y = batch_norm_inference(x, gamma_, beta_, moving_statistics(), options_.epsilon);
    return apply_activation(clamp, y);
  }
  if (x.dim(0) == 0) {
    throw InvalidArgument(
        fmt::format("BatchNorm \"{}\": expected a batch of at least one example to train on, found "
                    "an empty one",
                    name()));
  }
  auto [y, batch] = detail::batch_norm_training(x, gamma_, beta_, options_.epsilon, clamp);
  move_statistics(batch, x.shape().without_dim(-1).size());
  return y;
}

std::vector<GraphValue> BatchNorm::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  constexpr std::string_view kNotExported =
      "expected a BatchNorm that is folded, as quantize_model() and quantize_apply() return it, "
      "found one that goes on with the statistics of each batch; a .tflite file has no operator "
      "for it";
  const auto normalize = [this](std::span<const Tensor> x, const ForwardContext& context,
                                FusedActivation clamp) { return normalized(x[0], context, clamp); };
  return {graph.function(inputs, graph.shape(inputs[0]),
                         {.run = normalize,
                          .takes_clamp = true,
                          .each_position = true,
                          .not_exported = kNotExported})};
}

void BatchNorm::move_statistics(const ChannelStatistics& batch, Index values) const {
  if (values == 1 && !std::exchange(warned_, true)) {
    log_warn(
        fmt::format("BatchNorm \"{}\": trained on a batch with one value per channel, of which it "
                    "gives beta whatever the value is; train on larger batches, the last one of an "
                    "epoch too, or keep it still by set_trainable(false)",
                    name()));
  }
  const auto count = static_cast<double>(values);
  const double unbiased = count > 1.0 ? count / (count - 1.0) : 1.0;
  move_towards(moving_mean_, batch.mean, 1.0, options_.momentum);
  move_towards(moving_variance_, batch.variance, unbiased, options_.momentum);
}

LayerTensors BatchNorm::tensors() const {
  return {.parameters = {{"gamma", gamma_}, {"beta", beta_}},
          .state = {{"moving_mean", moving_mean_}, {"moving_variance", moving_variance_}}};
}

void BatchNorm::describe(Description& description) const {
  description.set("momentum", double{options_.momentum}).set("epsilon", double{options_.epsilon});
}

std::unique_ptr<BatchNorm> BatchNorm::copy() const {
  auto copy = std::make_unique<BatchNorm>(*this);
  copy->gamma_ = clone_leaf(gamma_);
  copy->beta_ = clone_leaf(beta_);
  copy->moving_mean_ = clone_leaf(moving_mean_);
  copy->moving_variance_ = clone_leaf(moving_variance_);
  return copy;
}

void BatchNorm::make_tensors(std::span<const Shape> input_shapes, const Random& /*random*/) {
  const Shape& input_shape = input_shapes[0];
  if (input_shape.rank() == 0 || input_shape.dim(-1) == 0) {
    throw InvalidArgument(fmt::format(
        "BatchNorm \"{}\": expected examples whose last axis holds one channel or more, "
        "found {}",
        name(), input_shape.to_string()));
  }
  const Shape channels{input_shape.dim(-1)};
  gamma_ = Tensor::ones(channels).set_requires_grad(true);
  beta_ = Tensor::zeros(channels).set_requires_grad(true);
  moving_mean_ = Tensor::zeros(channels);
  moving_variance_ = Tensor::ones(channels);
}

std::unique_ptr<BatchNorm> BatchNorm::make(const Description& d) {
  return std::make_unique<BatchNorm>(BatchNormOptions{.momentum = d.float_number("momentum"),
                                                      .epsilon = d.float_number("epsilon")});
}

}  // namespace octet
