#include <fmt/core.h>
#include <octet/compress/post_training.h>
#include <octet/compress/side_by_side.h>
#include <octet/core/error.h>
#include <octet/layers/batch_norm.h>
#include <octet/layers/kernel_layer.h>
#include <octet/layers/quantize/float_model.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace octet {
namespace {

/// Throws InvalidArgument unless the last axis of x [n, ..., channels] has so many channels.
void require_columns(const char* who, const Tensor& x, std::size_t channels) {
  if (x.defined() && x.rank() > 1 && x.size() > 0 && std::cmp_equal(x.dim(-1), channels)) return;
  throw InvalidArgument(fmt::format(
      "{}: expected samples [n, ..., {}], found {}", who, channels,
      x.defined() ? "shape " + x.shape().to_string() : std::string("an undefined tensor")));
}

Standardization statistics_of(const Tensor& samples, std::size_t channels, bool shifts) {
  require_columns("standardize_inputs", samples, channels);
  const std::span<const float> values = samples.span();
  const std::size_t rows = values.size() / channels;
  const auto count = static_cast<double>(rows);
  std::vector<double> mean(channels, 0.0);
  std::vector<double> square(channels, 0.0);
  for (std::size_t i = 0; shifts && i < values.size(); ++i) {
    mean[i % channels] += double{values[i]};
  }
  // Exact for a column of one value, whose deviation is then 0.
  for (double& sum : mean) sum /= count;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double from_mean = double{values[i]} - mean[i % channels];
    square[i % channels] += from_mean * from_mean / count;
  }
  Standardization result;
  for (std::size_t c = 0; c < channels; ++c) {
    const double deviation = std::sqrt(square[c]);
    if (!std::isfinite(deviation)) {
      throw NumericError(fmt::format(
          "standardize_inputs: expected finite samples, found channel {} with a deviation of {}", c,
          deviation));
    }
    result.mean.push_back(static_cast<float>(mean[c]));
    // A column of one value stays as wide as it is.
    const auto narrowed = static_cast<float>(deviation);
    result.deviation.push_back(narrowed > 0.0F ? narrowed : 1.0F);
  }
  return result;
}

/// y = gamma (x - mean) / sqrt(variance + epsilon) + beta of x = x' deviation + mean.
void fold_into(const BatchNorm& norm, const Standardization& of) {
  const std::span<float> gamma = Tensor(norm.gamma()).mutable_span();
  const std::span<float> mean = Tensor(norm.moving_mean()).mutable_span();
  const std::span<float> variance = Tensor(norm.moving_variance()).mutable_span();
  const double epsilon{norm.epsilon()};
  for (std::size_t c = 0; c < gamma.size(); ++c) {
    const double deviation{of.deviation[c]};
    const double scaled = double{variance[c]} / (deviation * deviation);
    gamma[c] = static_cast<float>(double{gamma[c]} * deviation *
                                  std::sqrt((scaled + epsilon) / (double{variance[c]} + epsilon)));
    mean[c] = static_cast<float>((double{mean[c]} - double{of.mean[c]}) / deviation);
    variance[c] = static_cast<float>(scaled);
  }
}

/// sum x W + b of x = x' deviation + mean; kernels are [.., channels / groups, units].
void fold_into(const LayerWeights& weights, const Standardization& of) {
  Tensor kernel = weights.kernel;
  Tensor bias = weights.bias;
  const auto units = static_cast<std::size_t>(kernel.dim(-1));
  const auto rows = static_cast<std::size_t>(kernel.dim(-2));
  const std::size_t groups =
      weights.convolution ? static_cast<std::size_t>(weights.convolution->groups) : 1;
  std::vector<double> shift(units, 0.0);
  const std::span<float> values = kernel.mutable_span();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t unit = i % units;
    const std::size_t channel = unit / (units / groups) * rows + i / units % rows;
    shift[unit] += double{values[i]} * double{of.mean[channel]};
    values[i] *= of.deviation[channel];
  }
  if (!bias.defined()) return;
  for (std::size_t u = 0; u < units; ++u) {
    bias.mutable_span()[u] = static_cast<float>(double{bias.span()[u]} + shift[u]);
  }
}

/// Whether the layer reads a channel of its input as rows of a kernel that it keeps.
bool has_rows(const Layer& layer, const LayerWeights& weights) {
  return dynamic_cast<const KernelLayer*>(&layer) != nullptr && !weights.transposed &&
         is_parameter(layer, weights.kernel) &&
         weights.kernel.rank() == (weights.convolution ? 4 : 2) &&
         weights.unit_axis == weights.kernel.rank() - 1;
}

/// The one layer that reads the input.
std::size_t first_reader(const Model& model) {
  const std::vector<std::size_t> inputs = model.input_layers();
  const std::vector<std::size_t> readers = model.readers(inputs.front());
  if (inputs.size() == 1 && readers.size() == 1 && !model.is_output(inputs.front())) {
    const std::size_t first = readers.front();
    if (model.used_layer(first) == first && !model.is_reused(first)) return first;
    throw InvalidArgument(fmt::format(
        "standardize_inputs: expected a first layer that is used once, found \"{}\", which reads "
        "other values too; standardize the data and train on them",
        model.layers()[first]->name()));
  }
  throw InvalidArgument(
      fmt::format("standardize_inputs: expected one input that one layer reads, found {} inputs "
                  "and {} readers",
                  inputs.size(), readers.size()));
}

}  // namespace

Tensor Standardization::apply(const Tensor& x) const {
  require_columns("Standardization::apply", x, mean.size());
  std::vector<float> values(x.span().begin(), x.span().end());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = (values[i] - mean[i % mean.size()]) / deviation[i % mean.size()];
  }
  return Tensor::from(x.shape(), values);
}

Standardization standardize_inputs(Model& model, const Tensor& samples) {
  require_float_model(model, "standardize_inputs");
  const Layer& first = *model.layers()[first_reader(model)];
  const auto channels = static_cast<std::size_t>(first.input_shape().dim(-1));
  if (const auto* norm = dynamic_cast<const BatchNorm*>(&first)) {
    Standardization result = statistics_of(samples, channels, /*shifts=*/true);
    fold_into(*norm, result);
    return result;
  }
  const std::optional<LayerWeights> weights = first.weights();
  if (!weights || !has_rows(first, *weights)) {
    throw InvalidArgument(fmt::format(
        "standardize_inputs: expected a BatchNorm, Dense or convolution to read the input, found "
        "layer \"{}\" of type {}; standardize the data and train on them",
        first.name(), first.type()));
  }
  // Padding adds zeros, which are no longer zero once the mean is off.
  const bool pads = weights->convolution && weights->convolution->padding != Padding::valid;
  Standardization result =
      statistics_of(samples, channels, /*shifts=*/weights->bias.defined() && !pads);
  fold_into(*weights, result);
  return result;
}

}  // namespace octet
