#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/ops/batch_norm_internal.h>
#include <octet/core/ops/elementwise.h>
#include <octet/layers/activation_function.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/layer_registry.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace octet {
namespace {

constexpr std::array kModes = {BatchNormMode::folded, BatchNormMode::statistics};

constexpr float kLeastGamma = 0x1p-10F;

/// gamma, whose elements next to 0 are small numbers of their sign.
Tensor away_from_zero(const Tensor& gamma) {
  const auto moved = [](float g) { return std::copysign(std::max(std::fabs(g), kLeastGamma), g); };
  return detail::map(Work::map_floats, moved, gamma);
}

Tensor frozen_from_start(BatchNormMode mode) {
  return Tensor::scalar(mode == BatchNormMode::folded ? 1.0F : 0.0F);
}

}  // namespace

std::string_view to_string(BatchNormMode mode) {
  switch (mode) {
    case BatchNormMode::folded:
      return "folded";
    case BatchNormMode::statistics:
      return "statistics";
  }
  throw InvalidArgument("to_string: a BatchNormMode outside the enumeration");
}

BatchNormMode parse_batch_norm_mode(std::string_view name) {
  for (const BatchNormMode mode : kModes) {
    if (name == to_string(mode)) return mode;
  }
  throw FormatError(fmt::format(
      "expected \"folded\" or \"statistics\" as a batch norm mode, found \"{}\"", name));
}

FoldedBatchNorm::FoldedBatchNorm(std::unique_ptr<Layer> layer,
                                 std::unique_ptr<BatchNorm> batch_norm, BatchNormMode mode)
    : Layer(layer == nullptr ? "" : layer->name()),
      layer_(std::move(layer)),
      batch_norm_(std::move(batch_norm)),
      mode_(mode),
      frozen_(frozen_from_start(mode)) {
  static_cast<void>(to_string(mode));  // Throws where it has no name.
  if (layer_ == nullptr || batch_norm_ == nullptr) {
    throw InvalidArgument("FoldedBatchNorm: expected a layer and a BatchNorm, found null");
  }
  if (!layer_->weights()) {
    throw InvalidArgument(
        fmt::format("FoldedBatchNorm \"{}\": expected a layer with a kernel, found {} without",
                    name(), layer_->type()));
  }
  if (layer_->is_quantized() || folded_batch_norm(*layer_) != nullptr) {
    throw InvalidArgument(fmt::format(
        "FoldedBatchNorm \"{}\": expected a float layer without batch normalization, found one of "
        "type {} {}",
        name(), layer_->type(), layer_->is_quantized() ? "that is quantized" : "that has it"));
  }
  set_activation(layer_->activation(), layer_->can_end_in(Activation::relu));
}

FoldedBatchNorm::FoldedBatchNorm(const FoldedBatchNorm& other)
    : Layer(other),
      layer_(clone_of(*other.layer_, other.name())),
      batch_norm_(other.batch_norm_->copy()),
      mode_(other.mode_),
      frozen_(clone_leaf(other.frozen_)) {}

void FoldedBatchNorm::make_tensors(std::span<const Shape> input_shapes, const Random& random) {
  const Shape& input_shape = input_shapes[0];
  // Layers that were trained keep their tensors; building anew does not.
  const bool anew = built();
  if (!layer_->built() || anew) layer_->build(input_shape, random);
  if (!batch_norm_->built() || anew) batch_norm_->build(layer_->output_shape(), random);
  if (anew) frozen_ = frozen_from_start(mode_);
  require_units_last();
}

Shape FoldedBatchNorm::result_shape(std::span<const Shape> /*input_shapes*/) const {
  return layer_->output_shape();
}

/// Throws InvalidArgument unless the channels are the kernel's units, and these lie along its last
/// axes.
void FoldedBatchNorm::require_units_last() const {
  const LayerWeights own = *layer_->weights();
  const Shape& kernel = own.kernel.shape();
  const Index channels = batch_norm_->gamma().size();
  Index units = own.unit_axis >= 0 && own.unit_axis < kernel.rank() ? 1 : 0;
  for (Index axis = own.unit_axis; units > 0 && axis < kernel.rank(); ++axis) units *= kernel[axis];
  if (units == channels) return;
  throw InvalidArgument(fmt::format(
      "layer \"{}\": expected a kernel whose units, the {} channels of the BatchNorm, are its last "
      "axes, found {} with unit_axis {}",
      name(), channels, kernel.to_string(), own.unit_axis));
}

std::optional<LayerWeights> FoldedBatchNorm::weights() const {
  std::optional<LayerWeights> weights = layer_->weights();
  if (!layer_->built() || !batch_norm_->built()) return weights;
  FoldedWeights folded = detail::fold_batch_norm_on_demand(
      weights->kernel, weights->bias, batch_norm_->gamma(), batch_norm_->beta(),
      batch_norm_->moving_statistics(), batch_norm_->epsilon());
  weights->kernel = std::move(folded.kernel);
  weights->bias = std::move(folded.bias);
  return weights;
}

FoldedBatchNorm::BatchWeights FoldedBatchNorm::batch_weights() const {
  BatchWeights result{*layer_->weights(), no_grad([&] {
                        return away_from_zero(batch_norm_->gamma()) *
                               detail::inverse_deviations(batch_norm_->moving_variance(),
                                                          batch_norm_->epsilon());
                      })};
  result.weights.kernel = detail::scaled_units_on_demand(result.weights.kernel, result.multipliers);
  result.weights.bias = {};
  return result;
}

detail::TrainingNorm FoldedBatchNorm::normalize_batch(const Tensor& z, const Tensor& multipliers,
                                                      FusedActivation clamp) {
  if (z.dim(0) == 0) {
    throw InvalidArgument(
        fmt::format("layer \"{}\": expected a batch of at least one example to train on, found an "
                    "empty one",
                    name()));
  }
  detail::TrainingNorm norm(z, batch_norm_->gamma(), batch_norm_->beta(), batch_norm_->epsilon(),
                            clamp, multipliers);
  ChannelStatistics statistics = norm.statistics();
  // A bias shifts the mean that inference takes off, and nothing else.
  if (const Tensor bias = layer_->weights()->bias; bias.defined()) {
    statistics.mean = no_grad([&, mean = statistics.mean] { return mean + bias; });
  }
  batch_norm_->move_statistics(statistics, z.shape().without_dim(-1).size());
  return norm;
}

Tensor FoldedBatchNorm::normalized(const Tensor& x, const ForwardContext& context) {
  const LayerWeights own = *layer_->weights();
  const Tensor y = layer_->linear(x, own.kernel, own.bias);
  // A convolution of sequences has them as images of height 1.
  const Shape examples = batch_norm_->input_shape().with_batch(y.dim(0));
  return batch_norm_->forward(y.reshape(examples), context).reshape(y.shape());
}

LayerTensors FoldedBatchNorm::tensors() const {
  LayerTensors all = layer_->tensors();
  all.append(batch_norm_->tensors());
  all.counters.push_back({"batch_norm_frozen", frozen_});
  all.parts.insert(all.parts.end(), {batch_norm_.get(), layer_.get()});
  return all;
}

void FoldedBatchNorm::describe(Description& description) const {
  description.set("layer", describe_layer(*layer_))
      .set("batch_norm", describe_layer(*batch_norm_))
      .set("mode", to_string(mode_));
}

std::unique_ptr<Layer> FoldedBatchNorm::make(const Description& d) {
  const Description norm = d.part("batch_norm");
  if (norm.text("type") != BatchNorm::kType) {
    throw FormatError(fmt::format(
        "FoldedBatchNorm: expected a BatchNorm as \"batch_norm\", found {}", norm.text("type")));
  }
  std::unique_ptr<BatchNorm> batch_norm = BatchNorm::make(norm);
  batch_norm->set_name(norm.text("name"));
  return std::make_unique<FoldedBatchNorm>(make_layer(d.part("layer")), std::move(batch_norm),
                                           parse_batch_norm_mode(d.text("mode")));
}

FoldedBatchNorm* folded_batch_norm(Layer& layer) {
  std::vector<Layer*> parts = layer.tensors().parts;
  parts.push_back(&layer);
  for (Layer* part : parts) {
    if (auto* folded = dynamic_cast<FoldedBatchNorm*>(part)) return folded;
  }
  return nullptr;
}

}  // namespace octet
