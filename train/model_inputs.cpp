#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/model_inputs.h>

#include <cstddef>

namespace octet {
namespace {

/// Features as an input of that shape takes them.
Tensor fit_to_shape(const Model& model, const Shape& expected, const Tensor& features) {
  if (features.shape().without_batch() == expected) return features;
  if (features.shape().without_batch().size() != expected.size()) {
    throw InvalidArgument(fmt::format(
        "model \"{}\" takes examples of shape {} ({} values), found {} ({} values)", model.name(),
        expected.to_string(), expected.size(), features.shape().without_batch().to_string(),
        features.shape().without_batch().size()));
  }
  return features.reshape(expected.with_batch(features.dim(0)));
}

}  // namespace

Tensor fit_to_input(const Model& model, const Tensor& features) {
  return fit_to_shape(model, model.input_shape(), features);
}

std::vector<Tensor> fit_to_inputs(const Model& model, const Batch& batch) {
  std::vector<Tensor> inputs = batch.inputs();
  const std::vector<std::size_t> layers = model.input_layers();
  if (inputs.size() != layers.size()) {
    throw InvalidArgument(fmt::format(
        "model \"{}\": expected features for each of its {} inputs, found features for {}; see "
        "Dataset::from_tensors()",
        model.name(), layers.size(), inputs.size()));
  }
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    inputs[k] = fit_to_shape(model, model.layers()[layers[k]]->output_shape(), inputs[k]);
  }
  return inputs;
}

}  // namespace octet
