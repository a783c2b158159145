#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/quant/quantize.h>
#include <octet/deploy/layer_codes.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace octet {
namespace {

const ModelTensor& tensor_of(const IntegerModel& model, std::int32_t index) {
  return model.tensors[static_cast<std::size_t>(index)];
}

/// A RESHAPE to or from an image of one pixel that a CONV_2D of 1 x 1 reads or makes: where
/// per_channel_as_conv_2d() writes a Dense layer so, it stands for no layer.
bool serves_conv_2d(const IntegerModel& model, const Operator& reshape) {
  if (reshape.code != OpCode::reshape) return false;
  const auto is_one_by_one = [&](std::int32_t tensor) {
    const auto& shape = tensor_of(model, tensor).shape;
    return shape[1] == 1 && shape[2] == 1;
  };
  return std::ranges::any_of(model.operators, [&](const Operator& op) {
    return op.code == OpCode::conv_2d && is_one_by_one(op.inputs[0]) &&
           is_one_by_one(op.inputs[1]) &&
           (op.inputs[0] == reshape.outputs[0] || op.outputs[0] == reshape.inputs[0]);
  });
}

bool is_codes(const ModelTensor& tensor) {
  return tensor.dtype == DType::int8 || tensor.dtype == DType::int16;
}

/// The tensors whose codes are compared: see LayerCodes::layers().
std::vector<std::int32_t> code_tensors(const IntegerModel& model) {
  if (model.inputs.size() != 1 || model.outputs.size() != 1) {
    throw InvalidArgument(fmt::format(
        "layer outputs: expected a model with one input and one output, found {} and {}",
        model.inputs.size(), model.outputs.size()));
  }
  std::vector<std::int32_t> tensors;
  if (is_codes(tensor_of(model, model.inputs[0]))) tensors.push_back(model.inputs[0]);
  for (const Operator& op : model.operators) {
    const ModelTensor& output = tensor_of(model, op.outputs[0]);
    if (is_codes(output)) {
      if (!serves_conv_2d(model, op)) tensors.push_back(op.outputs[0]);
      continue;
    }
    // Layers in float, and the last codes written as bytes.
    const bool is_end = op.outputs[0] == model.outputs[0] && op.code == OpCode::quantize;
    if (output.dtype != DType::float32 && !is_end) {
      throw InvalidArgument(
          fmt::format("layer outputs: expected int8, int16 or floats behind every operator, "
                      "found \"{}\" of {}",
                      output.name, to_string(output.dtype)));
    }
  }
  if (tensors.empty()) {
    throw InvalidArgument(fmt::format(
        "layer outputs: expected int8 or int16, found none in model \"{}\"; is this a float "
        "model?",
        model.name));
  }
  return tensors;
}

/// The number in `tensors` of the codes that the model's output is, or is converted from.
std::size_t find_output(const IntegerModel& model, const std::vector<std::int32_t>& tensors) {
  std::int32_t tensor = model.outputs[0];
  const auto found = [&] { return std::ranges::find(tensors, tensor); };
  for (auto op = model.operators.rbegin(); op != model.operators.rend(); ++op) {
    if (found() == tensors.end() && op->outputs[0] == tensor) tensor = op->inputs[0];
  }
  if (found() == tensors.end()) {
    throw InvalidArgument(
        fmt::format("layer outputs: expected an output that an operator computes from integers, "
                    "found \"{}\", which comes from \"{}\" alone",
                    tensor_of(model, model.outputs[0]).name, tensor_of(model, tensor).name));
  }
  return static_cast<std::size_t>(found() - tensors.begin());
}

/// See LayerCodes::float_output().
std::optional<FloatOutput> float_output_of(const IntegerModel& model) {
  const ModelTensor& output = tensor_of(model, model.outputs[0]);
  if (output.dtype != DType::float32) return std::nullopt;
  for (const Operator& op : model.operators) {
    if (op.outputs[0] != model.outputs[0]) continue;
    if (op.code == OpCode::dequantize) return std::nullopt;
    return FloatOutput{output.name, output.size()};
  }
  return std::nullopt;
}

std::vector<CodeLayer> code_layers(const IntegerModel& model,
                                   const std::vector<std::int32_t>& tensors) {
  std::vector<CodeLayer> layers;
  for (const std::int32_t index : tensors) {
    const ModelTensor& tensor = tensor_of(model, index);
    layers.push_back({tensor.name, tensor.size(), tensor.quantization.scale(),
                      tensor.quantization.zero_point(), tensor.dtype});
  }
  return layers;
}

/// The codes that `bytes` hold, as int16.
void widen(std::span<const std::byte> bytes, DType type, std::vector<std::int16_t>& to) {
  if (type == DType::int16) {
    to.resize(bytes.size() / sizeof(std::int16_t));
    if (!to.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
    return;
  }
  to.resize(bytes.size());
  std::ranges::transform(bytes, to.begin(), [](std::byte code) {
    return static_cast<std::int16_t>(static_cast<std::int8_t>(code));
  });
}

/// The grid of a layer's codes.
QuantParams grid_of(const CodeLayer& layer) {
  if (layer.type == DType::int8) return QuantParams::per_tensor(layer.scale, layer.zero_point);
  return QuantParams::per_tensor(layer.scale, layer.zero_point,
                                 std::numeric_limits<std::int16_t>::min(),
                                 std::numeric_limits<std::int16_t>::max());
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
        fmt::format("layer outputs: expected samples of {} values, found a batch of shape {}", size,
                    samples.shape().to_string()));
  }
  if (samples.dim(0) > 0) run_samples(samples);
}

InterpretedCodes::InterpretedCodes(IntegerModel model, InterpreterOptions options)
    : interpreter_(std::move(model), keeping_tensors(options)),
      tensors_(code_tensors(interpreter_.model())) {
  layers_ = code_layers(interpreter_.model(), tensors_);
  output_layer_ = find_output(interpreter_.model(), tensors_);
  float_output_ = float_output_of(interpreter_.model());
  codes_.resize(layers_.size());
  rounding_ = interpreter_.rounding();
}

void InterpretedCodes::run_samples(const Tensor& samples) {
  if (interpreter_.batch() != samples.dim(0)) interpreter_.resize_batch(samples.dim(0));
  interpreter_.predict(samples.span());
  const auto count = static_cast<std::size_t>(samples.dim(0));
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    std::vector<std::int16_t>& codes = codes_[i];
    widen(interpreter_.tensor_bytes(tensors_[i]), layers_[i].type, codes);
    const std::size_t once = codes.size();
    const auto size = static_cast<std::size_t>(layers_[i].size);
    if (once == count * size) continue;
    // The interpreter has what no input reaches once for all samples.
    codes.resize(count * size);
    for (std::size_t k = once; k < codes.size(); ++k) codes[k] = codes[k - once];
  }
}

std::span<const float> InterpretedCodes::floats() const {
  if (!float_output_) return {};
  const auto bytes = interpreter_.tensor_bytes(interpreter_.model().outputs[0]);
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

SimulatedCodes::SimulatedCodes(const Model& model) : current_(model) {
  const LoweredModel lowered = lower_by_layer(current_.model());
  const std::vector<std::int32_t> tensors = code_tensors(lowered.model);
  layers_ = code_layers(lowered.model, tensors);
  output_layer_ = find_output(lowered.model, tensors);
  float_output_ = float_output_of(lowered.model);
  codes_.resize(layers_.size());
  rounding_ = parse_rounding(lowered.model.metadata.at("octet.rounding"));
  for (const std::vector<std::int32_t>& of_layer : lowered.tensors_of_layer) {
    std::vector<std::size_t>& numbers = numbers_.emplace_back();
    for (const std::int32_t tensor : of_layer) {
      numbers.push_back(
          static_cast<std::size_t>(std::ranges::find(tensors, tensor) - tensors.begin()));
    }
  }
}

void SimulatedCodes::run_samples(const Tensor& samples) {
  const NoGrad guard;
  const Model& model = current_.model();
  const auto keep = [&](std::size_t layer, const std::vector<Tensor>& steps) {
    if (steps.size() < numbers_[layer].size()) {
      throw InvalidArgument(fmt::format(
          "layer outputs: layer \"{}\" becomes {} operators, but its simulation in floats gives {} "
          "result; use Simulation::integer, or compare outputs alone",
          model.layers()[layer]->name(), numbers_[layer].size(), steps.size()));
    }
    // Dropout, an activation of none and a reshape to the same shape become no operator.
    for (std::size_t i = 0; i < numbers_[layer].size(); ++i) {
      // No tensor of those that are compared.
      if (numbers_[layer][i] == layers_.size()) continue;
      const CodeLayer& shown = layers_[numbers_[layer][i]];
      std::vector<std::int16_t>& codes = codes_[numbers_[layer][i]];
      codes.resize(static_cast<std::size_t>(steps[i].size()));
      quantize(steps[i].span(), grid_of(shown), codes);
    }
  };
  const Tensor x = samples.reshape(model.input_shape().with_batch(samples.dim(0)));
  const Tensor output = model.forward_all({&x, 1}, keep).front();
  if (float_output_) floats_.assign(output.span().begin(), output.span().end());
}

}  // namespace octet
