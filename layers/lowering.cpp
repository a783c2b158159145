#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/layers/lowering.h>
#include <octet/layers/quantize/dense_codes.h>
#include <octet/layers/quantize/integer_ops.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace octet {
namespace {

QuantParams as_uint8(const QuantParams& params) {
  return QuantParams::per_tensor(params.scale(), params.zero_point() + 128, 0, 255);
}

std::string owner_text(const std::string& layer) {
  return fmt::format("lower: layer \"{}\"", layer);
}

}  // namespace

Lowering::Lowering(std::string model_name, Numbers numbers, const LowerOptions& options)
    : numbers_(numbers), options_(options), builder_(std::move(model_name)) {}

std::int32_t Lowering::input(const Layer& layer) {
  const std::int32_t tensor =
      builder_.activation(layer.name(), DType::float32, layer.output_shape());
  builder_.model().inputs.push_back(tensor);
  return tensor;
}

std::int32_t Lowering::input_codes(const Shape& example_shape, const QuantParams& grid) {
  const std::int32_t tensor = builder_.activation("", DType::int8, example_shape, grid);
  builder_.model().inputs.push_back(tensor);
  return tensor;
}

std::int32_t Lowering::quantize_input(const Layer& layer, std::int32_t input,
                                      const QuantParams& grid) {
  require_int8(grid, owner_text(layer.name()));
  ModelTensor& source = builder_.model().tensors[static_cast<std::size_t>(input)];
  if (source.dtype != DType::float32) {
    throw InvalidArgument(fmt::format("{}: expected an input that is not quantized, found {} '{}'",
                                      owner_text(layer.name()), to_string(source.dtype),
                                      source.name));
  }
  if (options_.input == IoType::float32) {
    return op_on_grid(layer, OpCode::quantize, input, grid);
  }
  if (options_.input == IoType::uint8) {
    source.dtype = DType::uint8;
    source.quantization = as_uint8(grid);
    return op_on_grid(layer, OpCode::quantize, input, grid);
  }
  source.dtype = DType::int8;
  source.quantization = grid;
  return input;
}

std::int32_t Lowering::op_on_grid(const Layer& layer, OpCode code, std::int32_t input,
                                  const QuantParams& grid) {
  const std::int32_t output =
      builder_.activation(layer.name(), DType::int8, layer.output_shape(), grid);
  builder_.op(code, {input}, output);
  return output;
}

void Lowering::quantize(Scheme scheme) {
  if (rounding_.has_value() && *rounding_ != scheme.rounding) {
    throw InvalidArgument(fmt::format(
        "{} asks for rounding {}, the layers before it for {}; a model has one contract",
        owner_text(scheme.owner), to_string(scheme.rounding), to_string(*rounding_)));
  }
  rounding_ = scheme.rounding;
  scheme_ = std::move(scheme);
  result_used_ = false;
}

void Lowering::end_layer() {
  if (scheme_ && scheme_->result && !result_used_) {
    throw InvalidArgument(
        fmt::format("{} quantizes an output for which its operator has no scale of its own; leave "
                    "it to the default scheme",
                    owner_text(scheme_->owner)));
  }
  scheme_.reset();
}

const Lowering::Scheme& Lowering::scheme_of(const Layer& layer) const {
  if (scheme_) return *scheme_;
  throw InvalidArgument(
      fmt::format("{} of type {} is not quantized; use quantize_model(), or mark the layer with "
                  "quantize_annotate_layer()",
                  owner_text(layer.name()), layer.type()));
}

void Lowering::require_codes(const Layer& layer) const {
  if (in_codes()) return;
  throw InvalidArgument(
      fmt::format("lower_float: layer \"{}\" of type {} is quantized, expected a float model; use "
                  "lower()",
                  layer.name(), layer.type()));
}

void Lowering::require_quantized(std::int32_t input) const {
  const ModelTensor& tensor = builder_.tensor(input);
  if (tensor.dtype != DType::float32) return;
  throw InvalidArgument(
      fmt::format("{}: expected a QuantizeLayer after the input, found none before it; use "
                  "quantize_model()",
                  owner_text(scheme_->owner)));
}

QuantParams Lowering::measured_grid(const Layer& layer) {
  if (!scheme_->result) {
    throw InvalidArgument(fmt::format("{} leaves its {}result unquantized",
                                      owner_text(scheme_->owner),
                                      layer.weights() ? "kernel or its " : ""));
  }
  require_int8(*scheme_->result, owner_text(scheme_->owner));
  result_used_ = true;
  return *scheme_->result;
}

QuantParams Lowering::fitting_grid(const OperatorDefinition& about,
                                   const std::vector<std::int32_t>& inputs,
                                   QuantParams measured) const {
  if (about.fitting_grid == nullptr) return measured;
  std::vector<QuantParams> grids;
  for (const std::int32_t input : inputs) grids.push_back(tensor(input).quantization);
  return about.fitting_grid(grids, std::move(measured));
}

/// The grid of what an operator makes of `inputs`.
QuantParams Lowering::grid_of(const Layer& layer, OpCode code,
                              const std::vector<std::int32_t>& inputs) {
  const OperatorDefinition& about = definition(code);
  switch (about.output_grid) {
    case OutputGrid::measured:
      return fitting_grid(about, inputs, measured_grid(layer));
    case OutputGrid::fixed:
      return about.fixed_grid();
    case OutputGrid::same_as_input:
      return builder_.tensor(inputs[0]).quantization;
  }
  throw InvalidArgument("lower: an operator of no known grid");
}

/// The tensor that an operator of `layer` writes.
std::int32_t Lowering::result(const Layer& layer, OpCode code,
                              const std::vector<std::int32_t>& inputs, std::string_view suffix) {
  const std::string name = layer.name() + std::string(suffix);
  if (!in_codes()) return builder_.activation(name, DType::float32, layer.output_shape());
  scheme_of(layer);
  for (const std::int32_t input : inputs) require_quantized(input);
  return builder_.activation(name, DType::int8, layer.output_shape(), grid_of(layer, code, inputs));
}

/// Throws InvalidArgument that names the layer unless the operator takes `count` inputs.
void Lowering::require_operands(const Layer& layer, OpCode code, std::size_t count) {
  const OperatorDefinition& about = definition(code);
  if (count >= about.least_inputs && count <= about.most_inputs) return;
  const std::string expected =
      about.least_inputs == about.most_inputs
          ? fmt::format("{} input{}", about.least_inputs, about.least_inputs == 1 ? "" : "s")
          : fmt::format("{} to {} inputs", about.least_inputs, about.most_inputs);
  throw InvalidArgument(fmt::format("{} of type {}: {}: expected {}, found {}",
                                    owner_text(layer.name()), layer.type(), about.name, expected,
                                    count));
}

std::int32_t Lowering::op(const Layer& layer, OpCode code, std::vector<std::int32_t> inputs,
                          std::optional<OperatorAttributes> attributes, std::string_view suffix) {
  require_operands(layer, code, inputs.size());
  const std::int32_t output = result(layer, code, inputs, suffix);
  Operator& added = builder_.op(code, std::move(inputs), output);
  if (attributes) added.attributes = std::move(*attributes);
  return output;
}

std::int32_t Lowering::fully_connected(const Layer& layer, std::int32_t input,
                                       FusedActivation activation, std::string_view suffix) {
  const LayerWeights weights = require_dense(layer, owner_text(layer.name()));
  const std::int32_t output = result(layer, OpCode::fully_connected, {input}, suffix);
  std::vector<std::int32_t> operands = {input};
  const auto constants =
      in_codes() ? integer_weights(layer, weights, input) : real_weights(layer, weights);
  operands.insert(operands.end(), constants.begin(), constants.end());
  builder_.op(OpCode::fully_connected, std::move(operands), output).attributes =
      FullyConnectedAttributes{.activation = activation};
  return output;
}

std::vector<std::int32_t> Lowering::real_weights(const Layer& layer, const LayerWeights& weights) {
  const Tensor kernel = transpose(weights.kernel.detach());
  const auto units = static_cast<std::int32_t>(kernel.dim(0));
  const auto depth = static_cast<std::int32_t>(kernel.dim(1));
  std::vector<std::int32_t> constants = {builder_.constant(
      layer.name() + "/kernel", DType::float32, {units, depth}, std::as_const(kernel).span())};
  if (weights.bias.defined()) {
    constants.push_back(builder_.constant(layer.name() + "/bias", DType::float32, {units},
                                          std::as_const(weights.bias).span()));
  }
  return constants;
}

std::vector<std::int32_t> Lowering::integer_weights(const Layer& layer, const LayerWeights& weights,
                                                    std::int32_t input) {
  const Scheme& scheme = *scheme_;
  if (!scheme.kernel) {
    throw InvalidArgument(
        fmt::format("{} leaves its kernel or its result unquantized", owner_text(scheme.owner)));
  }
  const QuantParams grid = builder_.tensor(input).quantization;
  const std::string owner = owner_text(scheme.owner);
  const DenseCodes codes = make_dense_codes(weights, *scheme.kernel, grid.scale(), owner);
  bound_ = std::max(bound_, octet::accumulator_bound(codes, grid, owner));
  const auto units = static_cast<std::int32_t>(weights.kernel.dim(1));
  const auto depth = static_cast<std::int32_t>(weights.kernel.dim(0));
  std::vector<std::int32_t> constants = {
      builder_.constant(layer.name() + "/kernel", DType::int8, {units, depth},
                        std::span<const std::int8_t>(codes.weights.unpack()), codes.weight_params)};
  if (!codes.bias.empty()) {
    QuantParams bias = codes.weight_params;
    for (float& scale : bias.scales) scale *= grid.scale();
    bias.qmin = std::numeric_limits<std::int32_t>::min();
    bias.qmax = std::numeric_limits<std::int32_t>::max();
    constants.push_back(builder_.constant(layer.name() + "/bias", DType::int32, {units},
                                          std::span<const std::int32_t>(codes.bias), bias));
  }
  return constants;
}

std::int32_t Lowering::reshape(const Layer& layer, std::int32_t input) {
  const std::int32_t output = result(layer, OpCode::reshape, {input}, "");
  builder_.reshape(layer.name(), input, output, layer.output_shape());
  return output;
}

void Lowering::finish(const std::vector<std::int32_t>& outputs) {
  for (const std::int32_t output : outputs) {
    builder_.model().outputs.push_back(finish_output(output));
  }
}

/// The model output that gives the values of `last` as options.output asks.
std::int32_t Lowering::finish_output(std::int32_t last) {
  if (!in_codes()) return last;
  if (builder_.tensor(last).dtype == DType::float32) {
    throw InvalidArgument(fmt::format("lower: model \"{}\" is not quantized; use quantize_model()",
                                      builder_.model().name));
  }
  if (options_.output == IoType::int8) return last;
  ModelTensor output = builder_.tensor(last);
  const bool real = options_.output == IoType::float32;
  output.name += real ? "/real" : "/uint8";
  output.dtype = real ? DType::float32 : DType::uint8;
  output.quantization =
      real ? ModelBuilder::no_quantization() : as_uint8(builder_.tensor(last).quantization);
  const std::int32_t added = builder_.add(std::move(output));
  builder_.op(real ? OpCode::dequantize : OpCode::quantize, {last}, added);
  return added;
}

}  // namespace octet
