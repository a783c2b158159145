#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/activation_function.h>
#include <octet/layers/program/lowering.h>
#include <octet/layers/quantize/quantize_config.h>
#include <octet/layers/quantize/step_rules.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <array>
#include <utility>

namespace octet {
namespace {

std::string owner_text(const std::string& layer) {
  return fmt::format("lower: layer \"{}\"", layer);
}

QuantParams as_uint8(const QuantParams& params) {
  return QuantParams::per_tensor(params.scale(), params.zero_point() + 128, 0, 255);
}

[[noreturn]] void fail_uint8(const std::string& layer, std::string_view end) {
  throw InvalidArgument(fmt::format(
      "{}: expected an {} of its own type or of float32, found uint8, which has fewer values than "
      "the "
      "int16 of activations of 16 bits; leave LowerOptions::{} at int8 or ask for float32",
      owner_text(layer), end, end));
}

void require_io_type(IoType type) {
  switch (type) {
    case IoType::int8:
    case IoType::uint8:
    case IoType::float32:
      return;
  }
  throw InvalidArgument("lower: an IoType outside the enumeration");
}

/// Whether an operator's own clamp leaves out all below 0.
bool clamps_below_zero(const Step& step) {
  if (step.code == OpCode::relu || step.code == OpCode::relu6) return true;
  const auto* binary = std::get_if<BinaryAttributes>(&step.attributes);
  const FusedActivation clamp = binary != nullptr ? binary->activation : step.clamp;
  return real_limits(clamp).lo == 0.0F;
}

/// A constant operand that a step's numbers become.
struct StepConstant {
  std::string_view suffix;
  std::vector<std::int32_t> shape;
  std::span<const std::int32_t> numbers;
};

std::vector<StepConstant> constants_of(const Step& step) {
  const std::span<const std::int32_t> numbers(step.numbers);
  if (numbers.empty()) return {};
  const auto count = static_cast<std::int32_t>(numbers.size());
  if (step.code == OpCode::pad) return {{"/paddings", {count / 2, 2}, numbers}};
  if (step.code == OpCode::resize_bilinear || step.code == OpCode::resize_nearest_neighbor) {
    return {{"/size", {count}, numbers}};
  }
  if (step.code == OpCode::transpose) return {{"/permutation", {count}, numbers}};
  if (step.code == OpCode::strided_slice) {
    const std::size_t rank = numbers.size() / 3;
    const std::vector<std::int32_t> shape{count / 3};
    return {{"/begin", shape, numbers.first(rank)},
            {"/end", shape, numbers.subspan(rank, rank)},
            {"/strides", shape, numbers.last(rank)}};
  }
  throw InvalidArgument(
      fmt::format("lower: {} reads no numbers beside its inputs", to_string(step.code)));
}

}  // namespace

Lowering::Lowering(std::string model_name, const LowerOptions& options)
    : options_(options), builder_(std::move(model_name)) {
  require_io_type(options.input);
  require_io_type(options.output);
}

std::int32_t Lowering::input(std::string_view name, const Shape& example_shape) {
  const std::int32_t tensor = builder_.activation(std::string(name), DType::float32, example_shape);
  builder_.model().inputs.push_back(tensor);
  return tensor;
}

std::int32_t Lowering::quantized_input(const Shape& example_shape, const QuantParams& params) {
  const std::int32_t tensor =
      builder_.activation("", integer_type_of(params), example_shape, params);
  builder_.model().inputs.push_back(tensor);
  return tensor;
}

void Lowering::require_rounding(const StepScheme& scheme) {
  const Rounding rounding = scheme.options->rounding;
  if (rounding_.has_value() && *rounding_ != rounding) {
    throw InvalidArgument(fmt::format(
        "{} asks for rounding {}, the layers before it for {}; a model has one rounding mode",
        owner_text(scheme.owner), to_string(rounding), to_string(*rounding_)));
  }
  rounding_ = rounding;
}

Lowering::Current Lowering::current(const Step& step, const Program::Value& result) {
  const StepScheme* scheme = step.scheme.get();
  if (scheme != nullptr) require_rounding(*scheme);
  const std::string& owner = scheme != nullptr ? scheme->owner : step.layer->name();
  return {step, result, owner_text(owner), scheme != nullptr && scheme->on_integers};
}

std::int32_t Lowering::append(const Step& step, const Program::Value& result,
                              std::span<const std::int32_t> inputs) {
  const Current now = current(step, result);
  switch (step.kind) {
    case Step::Kind::op:
      return with_quantized_result(now, operation(now, inputs));
    case Step::Kind::linear:
      return with_quantized_result(now, linear(now, inputs[0]));
    case Step::Kind::function:
      return with_quantized_result(now, function(now, inputs[0]));
    case Step::Kind::quantize:
      return quantize(now, inputs[0]);
    case Step::Kind::requantize:
      return requantized(inputs[0], step.scheme->common->params());
    case Step::Kind::parameter:
      return parameter(now);
  }
  throw InvalidArgument(fmt::format("{}: a step of no known kind", now.owner));
}

/// Quantizes the result of a step that computes in floats and has a quantizer for it.
std::int32_t Lowering::with_quantized_result(const Current& now, std::int32_t result) {
  const StepScheme* scheme = now.step.scheme.get();
  if (now.on_integers || scheme == nullptr || scheme->result == nullptr) return result;
  const QuantParams params = scheme->result->params();
  require_operator_range(params, clamps_at_zero(now.step.layer->activation()), now.owner);
  return requantized(reals_of(result), params);
}

std::int32_t Lowering::function(const Current& now, std::int32_t input) {
  const TensorFunction& function = now.step.function;
  if (function.only_trains) return input;
  if (!function.not_exported.empty()) {
    throw InvalidArgument(fmt::format("{}: {}", now.owner, function.not_exported));
  }
  throw InvalidArgument(
      fmt::format("{} of type {} has no operator; a layer of your own overrides Layer::emit()",
                  now.owner, now.step.layer->type()));
}

/// Quantizes what a QuantizeLayer reads: a model input by its element type, unless options.input
/// asks for an operator, any other tensor, real or of integers, by a QUANTIZE.
std::int32_t Lowering::quantize(const Current& now, std::int32_t input) {
  const QuantParams params = now.step.scheme->result->params();
  require_operator_range(params, false, now.owner);
  const bool is_input = std::ranges::count(builder_.model().inputs, input) > 0;
  if (!is_input || !is_real(input) || options_.input == IoType::float32) {
    return quantize_op(now, input, params);
  }
  ModelTensor& source = builder_.model().tensors[static_cast<std::size_t>(input)];
  const DType type = integer_type_of(params);
  if (options_.input == IoType::uint8) {
    if (type == DType::int16) fail_uint8(now.step.layer->name(), "input");
    source.dtype = DType::uint8;
    source.quantization = as_uint8(params);
    return quantize_op(now, input, params);
  }
  source.dtype = type;
  source.quantization = params;
  return input;
}

std::int32_t Lowering::quantize_op(const Current& now, std::int32_t input,
                                   const QuantParams& params) {
  const std::int32_t output =
      builder_.activation(now.result.name(), integer_type_of(params), now.result.shape, params);
  builder_.op(OpCode::quantize, {input}, output);
  return output;
}

/// The real values of a tensor of integers: one DEQUANTIZE for all that read them.
std::int32_t Lowering::reals_of(std::int32_t tensor) {
  if (is_real(tensor)) return tensor;
  const auto [found, is_new] = reals_.try_emplace(tensor);
  if (!is_new) return found->second;
  ModelTensor reals = builder_.tensor(tensor);
  reals.name += "/real";
  reals.dtype = DType::float32;
  reals.quantization = ModelBuilder::no_quantization();
  found->second = builder_.add(std::move(reals));
  builder_.op(OpCode::dequantize, {tensor}, found->second);
  return found->second;
}

std::int32_t Lowering::requantized(std::int32_t tensor, const QuantParams& params) {
  if (!is_real(tensor) && builder_.tensor(tensor).quantization == params) return tensor;
  ModelTensor codes = builder_.tensor(tensor);
  codes.name += "/codes";
  codes.dtype = integer_type_of(params);
  codes.quantization = params;
  const std::int32_t from = reals_of(tensor);
  const std::int32_t added = builder_.add(std::move(codes));
  builder_.op(OpCode::quantize, {from}, added);
  return added;
}

/// The tensor that the operator of a step writes.
std::int32_t Lowering::result(const Current& now, std::span<const std::int32_t> inputs,
                              std::string_view suffix) {
  const std::string name = now.result.name() + std::string(suffix);
  if (!now.on_integers) return builder_.activation(name, DType::float32, now.result.shape);
  std::vector<QuantParams> read;
  for (const std::int32_t input : inputs) {
    if (is_real(input)) {
      throw InvalidArgument(
          fmt::format("{}: expected a QuantizeLayer after the input, found none before it; use "
                      "quantize_model()",
                      now.owner));
    }
    read.push_back(tensor(input).quantization);
  }
  std::optional<QuantParams> measured;
  if (const Quantizer* quantizer = now.step.scheme->result; quantizer != nullptr) {
    measured = quantizer->params();
    require_operator_range(*measured, clamps_below_zero(now.step), now.owner);
  } else if (only_clamps(now.step.code, now.step.scheme->options->rounding)) {
    measured = read[0];
  }
  const QuantParams params = result_params(now.step.code, read, measured, now.owner);
  return builder_.activation(name, integer_type_of(params), now.result.shape, params);
}

/// GATHER of a table, the first input, by indices, which are floats: CAST makes integers of them.
std::int32_t Lowering::lookup(const Current& now, std::span<const std::int32_t> inputs) {
  const std::int32_t table = now.on_integers ? inputs[0] : reals_of(inputs[0]);
  const std::int32_t floats = reals_of(inputs[1]);
  const std::int32_t indices = builder_.activation(now.result.name() + "/indices", DType::int32,
                                                   tensor(floats).example_shape());
  builder_.op(OpCode::cast, {floats}, indices);
  const std::int32_t output = result(now, {&table, 1}, "");
  builder_.op(OpCode::gather, {indices, table}, output, now.step.attributes);
  return output;
}

std::int32_t Lowering::operation(const Current& now, std::span<const std::int32_t> inputs) {
  const Step& step = now.step;
  if (step.code == OpCode::gather) return lookup(now, inputs);
  if (step.code == OpCode::unidirectional_sequence_lstm) {
    return sequence_lstm(now, {inputs.begin(), inputs.end()});
  }
  std::vector<std::int32_t> read(inputs.begin(), inputs.end());
  if (!now.on_integers) {
    for (std::int32_t& input : read) input = reals_of(input);
  }
  const std::int32_t output = result(now, read, "");
  if (step.code == OpCode::reshape) {
    builder_.reshape(now.result.name(), read[0], output, now.result.shape);
    return output;
  }
  for (const StepConstant& constant : constants_of(step)) {
    read.push_back(builder_.constant(now.result.name() + std::string(constant.suffix), DType::int32,
                                     constant.shape, constant.numbers));
  }
  builder_.op(step.code, std::move(read), output, step.attributes);
  return output;
}

std::vector<std::int32_t> Lowering::split(const Program& program, std::span<const Step> parts,
                                          std::size_t axis, std::int32_t input) {
  std::vector<std::int32_t> results;
  for (const Step& part : parts) {
    const Current now = current(part, program.values[part.result]);
    if (!now.on_integers) input = reals_of(input);
    results.push_back(result(now, {&input, 1}, ""));
  }
  const std::array<std::int32_t, 1> along = {static_cast<std::int32_t>(axis)};
  const std::int32_t constant = builder_.constant(tensor(results[0]).name + "/axis", DType::int32,
                                                  {}, std::span<const std::int32_t>(along));
  builder_
      .op(OpCode::split, {input, constant}, results[0],
          SplitAttributes{.num_splits = static_cast<std::int32_t>(parts.size())})
      .outputs = results;
  return results;
}

void Lowering::finish(const std::vector<std::int32_t>& outputs) {
  for (const std::int32_t output : outputs) {
    builder_.model().outputs.push_back(finish_output(output));
  }
}

/// The model output that gives the values of `last` as options.output asks.
std::int32_t Lowering::finish_output(std::int32_t last) {
  if (is_real(last) || options_.output == IoType::int8) return last;
  if (options_.output == IoType::float32) return reals_of(last);
  if (is_wide(last)) fail_uint8(tensor(last).name, "output");
  ModelTensor output = builder_.tensor(last);
  output.name += "/uint8";
  output.dtype = DType::uint8;
  output.quantization = as_uint8(builder_.tensor(last).quantization);
  const std::int32_t added = builder_.add(std::move(output));
  builder_.op(OpCode::quantize, {last}, added);
  return added;
}

}  // namespace octet
