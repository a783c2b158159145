#include <fmt/format.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/quant/quantize.h>
#include <octet/deploy/layer_codes.h>
#include <octet/deploy/lower.h>
#include <octet/layers/quantize/integer_ops.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/quantize_output_wrapper.h>
#include <octet/layers/quantize/quantize_wrapper.h>

#include <algorithm>

namespace octet {
namespace {

const ModelTensor& tensor_of(const IntegerModel& model, std::int32_t index) {
  return model.tensors[static_cast<std::size_t>(index)];
}

/// A RESHAPE to or from the image of a CONV_2D, which no layer stands for.
bool serves_conv_2d(const IntegerModel& model, const Operator& reshape) {
  if (reshape.code != OpCode::reshape) return false;
  return std::ranges::any_of(model.operators, [&](const Operator& op) {
    return op.code == OpCode::conv_2d &&
           (op.inputs[0] == reshape.outputs[0] || op.outputs[0] == reshape.inputs[0]);
  });
}

/// The tensors whose codes are compared: see LayerCodes::layers().
std::vector<std::int32_t> code_tensors(const IntegerModel& model) {
  if (model.inputs.size() != 1 || model.outputs.size() != 1) {
    throw InvalidArgument(
        fmt::format("layer codes: expected a model with one input and one output, found {} and {}",
                    model.inputs.size(), model.outputs.size()));
  }
  std::vector<std::int32_t> tensors;
  if (tensor_of(model, model.inputs[0]).dtype == DType::int8) tensors.push_back(model.inputs[0]);
  for (const Operator& op : model.operators) {
    const ModelTensor& output = tensor_of(model, op.outputs[0]);
    if (output.dtype == DType::int8) {
      if (!serves_conv_2d(model, op)) tensors.push_back(op.outputs[0]);
      continue;
    }
    // The last codes, written as bytes or reals.
    const bool writes_output = op.outputs[0] == model.outputs[0];
    const bool converts = op.code == OpCode::dequantize || op.code == OpCode::quantize;
    if (!writes_output || !converts) {
      throw InvalidArgument(fmt::format(
          "layer codes: expected int8 codes behind every operator, found \"{}\" of {}; is this a "
          "float model?",
          output.name, to_string(output.dtype)));
    }
  }
  if (tensors.empty()) throw InvalidArgument("layer codes: the model has no int8 codes");
  return tensors;
}

std::vector<CodeLayer> code_layers(const IntegerModel& model,
                                   const std::vector<std::int32_t>& tensors) {
  std::vector<CodeLayer> layers;
  for (const std::int32_t index : tensors) {
    const ModelTensor& tensor = tensor_of(model, index);
    layers.push_back({tensor.name, tensor.size(), tensor.quantization.scale(),
                      tensor.quantization.zero_point()});
  }
  return layers;
}

InterpreterOptions keeping_tensors(InterpreterOptions options) {
  options.keep_tensors = true;
  return options;
}

}  // namespace

void LayerCodes::run(const Tensor& samples) {
  const Index size = layers_.front().size;
  if (samples.rank() < 1 || samples.shape().without_batch().size() != size) {
    throw InvalidArgument(
        fmt::format("layer codes: expected samples of {} values, found a batch of shape {}", size,
                    samples.shape().to_string()));
  }
  if (samples.dim(0) > 0) run_samples(samples);
}

InterpretedCodes::InterpretedCodes(IntegerModel model, InterpreterOptions options)
    : interpreter_(std::move(model), keeping_tensors(options)),
      tensors_(code_tensors(interpreter_.model())) {
  layers_ = code_layers(interpreter_.model(), tensors_);
  rounding_ = interpreter_.rounding();
}

void InterpretedCodes::run_samples(const Tensor& samples) {
  if (interpreter_.batch() != samples.dim(0)) interpreter_.resize_batch(samples.dim(0));
  interpreter_.predict(samples.span());
}

std::span<const std::int8_t> InterpretedCodes::codes(std::size_t layer) const {
  const auto bytes = interpreter_.tensor_bytes(tensors_[layer]);
  return {reinterpret_cast<const std::int8_t*>(bytes.data()), bytes.size()};
}

SimulatedCodes::SimulatedCodes(const Sequential& model) : model_(&model) {
  refresh_kernel_ranges(model);
  const IntegerModel lowered = lower(model);
  layers_ = code_layers(lowered, code_tensors(lowered));
  codes_.resize(layers_.size());
  rounding_ = parse_rounding(lowered.metadata.at("octet.rounding"));
}

std::ptrdiff_t SimulatedCodes::find(const std::string& name) const {
  for (std::size_t i = next_; i < layers_.size(); ++i) {
    if (layers_[i].name == name) return static_cast<std::ptrdiff_t>(i);
  }
  return -1;
}

void SimulatedCodes::keep(const std::string& name, const Tensor& value) {
  const std::ptrdiff_t found = find(name);
  // Dropout, an activation of none and a reshape to the same shape become no operator.
  if (found < 0) return;
  next_ = static_cast<std::size_t>(found) + 1;
  const CodeLayer& layer = layers_[next_ - 1];
  std::vector<std::int8_t>& codes = codes_[next_ - 1];
  codes.resize(static_cast<std::size_t>(value.size()));
  quantize(value.span(), QuantParams::per_tensor(layer.scale, layer.zero_point), codes);
}

void SimulatedCodes::run_samples(const Tensor& samples) {
  const NoGrad guard;
  next_ = 0;
  Tensor value = samples.reshape(model_->input_shape().with_batch(samples.dim(0)));
  for (const auto& layer : model_->layers()) {
    if (dynamic_cast<QuantizeLayer*>(layer.get()) != nullptr) {
      value = layer->forward(value, {});
      keep(model_->layers().front()->name(), value);
    } else if (auto* dense = dynamic_cast<QuantizeWrapper*>(layer.get())) {
      const Activation activation = dense->wrapped().activation();
      const std::string& name = dense->wrapped().name();
      value = dense->forward_linear(value, {});
      if (quantizes_before(activation)) {
        keep(name + "/linear", value);
        const QuantizeOptions& options = dense->config().options();
        value = apply_fixed_grid_activation(activation, value, options.simulation, options.rounding,
                                            dense->name());
      }
      keep(name, value);
    } else {
      value = layer->forward(value, {});
      const auto* other = dynamic_cast<const QuantizeOutputWrapper*>(layer.get());
      if (other != nullptr) keep(other->wrapped().name(), value);
    }
  }
  if (next_ != layers_.size()) {
    throw InvalidArgument(
        fmt::format("layer codes: \"{}\" of the lowered model is no layer's", layers_[next_].name));
  }
}

}  // namespace octet
