#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/quant/quantize.h>
#include <octet/deploy/layer_codes.h>
#include <octet/runtime/operators/definitions.h>

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

/// The quantized values of an input, its own or those that a QUANTIZE computes; none where layers
/// in float read it.
std::optional<std::int32_t> codes_of_input(const IntegerModel& model, std::int32_t input) {
  if (is_codes(tensor_of(model, input))) return input;
  const auto makes_codes = [&](const Operator& op) {
    return op.code == OpCode::quantize && op.inputs[0] == input &&
           is_codes(tensor_of(model, op.outputs[0]));
  };
  const auto found = std::ranges::find_if(model.operators, makes_codes);
  return found == model.operators.end() ? std::nullopt : std::optional(found->outputs[0]);
}

/// The tensors whose codes are compared: see LayerCodes::layers().
std::vector<std::int32_t> code_tensors(const IntegerModel& model) {
  std::vector<std::int32_t> tensors;
  for (const std::int32_t input : model.inputs) {
    if (const auto codes = codes_of_input(model, input)) tensors.push_back(*codes);
  }
  for (const Operator& op : model.operators) {
    for (const std::int32_t index : op.outputs) {
      const ModelTensor& output = tensor_of(model, index);
      // A state behind the last step is a layer's result only where something reads it.
      const bool is_state = !definition(op.code).file_states.empty() && index != op.outputs[0];
      if (is_state && detail::readers_of(model, index) == 0) continue;
      if (is_codes(output)) {
        const bool is_there = std::ranges::count(tensors, index) > 0;
        if (!is_there && !serves_conv_2d(model, op)) tensors.push_back(index);
        continue;
      }
      // Layers in float, and the last codes written as bytes, or the places of the largest.
      const bool is_end = std::ranges::count(model.outputs, index) > 0 &&
                          (op.code == OpCode::quantize || op.code == OpCode::arg_max);
      if (output.dtype != DType::float32 && !is_end) {
        throw InvalidArgument(
            fmt::format("layer outputs: expected int8, int16 or floats behind every operator, "
                        "found \"{}\" of {}",
                        output.name, to_string(output.dtype)));
      }
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

/// The numbers in `tensors` of the quantized values that the model's inputs are, or become.
std::vector<std::size_t> find_inputs(const IntegerModel& model,
                                     const std::vector<std::int32_t>& tensors) {
  // Layers in float may stand between one input and its first codes.
  if (model.inputs.size() == 1) return {0};
  std::vector<std::size_t> numbers;
  for (const std::int32_t input : model.inputs) {
    const std::optional<std::int32_t> codes = codes_of_input(model, input);
    if (!codes) {
      throw InvalidArgument(fmt::format(
          "layer outputs: expected inputs of int8 or int16, or floats that a QUANTIZE reads, "
          "found \"{}\" of {}, which layers in float read",
          tensor_of(model, input).name, to_string(tensor_of(model, input).dtype)));
    }
    numbers.push_back(
        static_cast<std::size_t>(std::ranges::find(tensors, *codes) - tensors.begin()));
  }
  return numbers;
}

/// The number in `tensors` of the quantized values that an output is, or is converted from.
std::size_t find_output(const IntegerModel& model, std::int32_t output,
                        const std::vector<std::int32_t>& tensors) {
  std::int32_t tensor = output;
  const auto found = [&] { return std::ranges::find(tensors, tensor); };
  for (auto op = model.operators.rbegin(); op != model.operators.rend(); ++op) {
    if (found() == tensors.end() && op->outputs[0] == tensor) tensor = op->inputs[0];
  }
  if (found() == tensors.end()) {
    throw InvalidArgument(
        fmt::format("layer outputs: expected an output that an operator computes from integers, "
                    "found \"{}\", which comes from \"{}\" alone",
                    tensor_of(model, output).name, tensor_of(model, tensor).name));
  }
  return static_cast<std::size_t>(found() - tensors.begin());
}

std::vector<std::size_t> find_outputs(const IntegerModel& model,
                                      const std::vector<std::int32_t>& tensors) {
  std::vector<std::size_t> numbers;
  for (const std::int32_t output : model.outputs) {
    numbers.push_back(find_output(model, output, tensors));
  }
  return numbers;
}

/// See LayerCodes::float_output().
std::optional<FloatOutput> float_output_of(const IntegerModel& model) {
  const auto is_computed_in_float = [&](std::int32_t output) {
    const auto writes = [&](const Operator& op) { return op.outputs[0] == output; };
    const auto writer = std::ranges::find_if(model.operators, writes);
    return tensor_of(model, output).dtype == DType::float32 && writer != model.operators.end() &&
           writer->code != OpCode::dequantize;
  };
  const auto found = std::ranges::find_if(model.outputs, is_computed_in_float);
  if (found == model.outputs.end()) return std::nullopt;
  const ModelTensor& output = tensor_of(model, *found);
  if (model.outputs.size() == 1) return FloatOutput{output.name, output.size()};
  throw InvalidArgument(fmt::format(
      "layer outputs: expected {} outputs of int8 or int16, found \"{}\", which layers in float "
      "compute; only a model of one output may have such an output",
      model.outputs.size(), output.name));
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

void LayerCodes::run(std::span<const Tensor> inputs) {
  if (inputs.size() != input_layers_.size()) {
    throw InvalidArgument(
        fmt::format("layer outputs: expected samples for each of {} inputs, found them for {}",
                    input_layers_.size(), inputs.size()));
  }
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Tensor& samples = inputs[k];
    const Index size = layers_[input_layers_[k]].size;
    if (samples.rank() < 1 || samples.shape().without_batch().size() != size) {
      throw InvalidArgument(
          fmt::format("layer outputs: expected samples of {} values, found a batch of shape {}",
                      size, samples.shape().to_string()));
    }
    if (samples.dim(0) == inputs[0].dim(0)) continue;
    throw InvalidArgument(fmt::format(
        "layer outputs: expected as many samples for each input, found {} for the first and {} for "
        "\"{}\"",
        inputs[0].dim(0), samples.dim(0), layers_[input_layers_[k]].name));
  }
  if (inputs[0].dim(0) > 0) run_samples(inputs);
}

InterpretedCodes::InterpretedCodes(IntegerModel model, InterpreterOptions options)
    : interpreter_(std::move(model), keeping_tensors(options)),
      tensors_(code_tensors(interpreter_.model())) {
  layers_ = code_layers(interpreter_.model(), tensors_);
  input_layers_ = find_inputs(interpreter_.model(), tensors_);
  output_layers_ = find_outputs(interpreter_.model(), tensors_);
  float_output_ = float_output_of(interpreter_.model());
  codes_.resize(layers_.size());
  rounding_ = interpreter_.rounding();
}

void InterpretedCodes::run_samples(std::span<const Tensor> inputs) {
  const Index batch = inputs[0].dim(0);
  if (interpreter_.batch() != batch) interpreter_.resize_batch(batch);
  std::vector<std::span<const float>> values;
  for (const Tensor& samples : inputs) values.push_back(samples.span());
  static_cast<void>(interpreter_.run_all(values));
  const auto count = static_cast<std::size_t>(batch);
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
  input_layers_ = find_inputs(lowered.model, tensors);
  output_layers_ = find_outputs(lowered.model, tensors);
  float_output_ = float_output_of(lowered.model);
  codes_.resize(layers_.size());
  rounding_ = parse_rounding(lowered.model.metadata.at(kRoundingKey));
  for (const std::vector<std::int32_t>& of_layer : lowered.tensors_of_layer) {
    std::vector<std::size_t>& numbers = numbers_.emplace_back();
    for (const std::int32_t tensor : of_layer) {
      numbers.push_back(
          static_cast<std::size_t>(std::ranges::find(tensors, tensor) - tensors.begin()));
    }
  }
}

void SimulatedCodes::run_samples(std::span<const Tensor> inputs) {
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
  std::vector<Tensor> shaped;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Layer& input = *model.layers()[model.input_layers()[k]];
    shaped.push_back(inputs[k].reshape(input.output_shape().with_batch(inputs[k].dim(0))));
  }
  const Tensor output = model.forward_all(shaped, keep).front();
  if (float_output_) floats_.assign(output.span().begin(), output.span().end());
}

}  // namespace octet
