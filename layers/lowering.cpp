#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/lowering.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/runtime/operators/resize_nearest_neighbor.h>

#include <algorithm>
#include <utility>

namespace octet {
namespace {

QuantParams as_uint8(const QuantParams& params) {
  return QuantParams::per_tensor(params.scale(), params.zero_point() + 128, 0, 255);
}

[[noreturn]] void fail_uint8(const std::string& layer, std::string_view end) {
  throw InvalidArgument(fmt::format(
      "{}: expected an {} of its codes or of float32, found uint8, which has fewer codes than the "
      "int16 of activations of 16 bits; leave LowerOptions::{} at int8 or ask for float32",
      Lowering::owner_text(layer), end, end));
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

}  // namespace

void require_codes_of_operators(const QuantParams& grid, bool clamps_at_zero,
                                const std::string& owner) {
  const bool is_int16 =
      grid.qmin == -32768 && grid.qmax == 32767 && !grid.per_channel() && grid.zero_point() == 0;
  if (is_int16) return;
  const bool ends_as_int8 = grid.qmin >= -128 && grid.qmax == 127;
  if (ends_as_int8 && (grid.qmin == -128 || clamps_at_zero)) return;
  throw InvalidArgument(fmt::format(
      "{}: expected a result on the int8 codes -128 to 127, found {} to {}, which no operator "
      "clamps "
      "to. Give the quantizer of the result 8 bits, signed, not narrow, or, behind a ReLU or "
      "ReLU6, "
      "fewer bits with QuantSpec::top_of_int8; or 16 bits, signed, symmetric, not narrow, under "
      "rounding q15; or leave the layer in_float(). Trained with "
      "Simulation::fake_quant and not exported, a model may have any codes",
      owner, grid.qmin, grid.qmax));
}

std::string Lowering::owner_text(const std::string& layer) {
  return fmt::format("lower: layer \"{}\"", layer);
}

Lowering::Lowering(std::string model_name, Numbers numbers, const LowerOptions& options)
    : numbers_(numbers), options_(options), builder_(std::move(model_name)) {
  require_io_type(options.input);
  require_io_type(options.output);
}

std::int32_t Lowering::input(const Layer& layer) {
  const std::int32_t tensor =
      builder_.activation(layer.name(), DType::float32, layer.output_shape());
  builder_.model().inputs.push_back(tensor);
  return tensor;
}

std::int32_t Lowering::input_codes(const Shape& example_shape, const QuantParams& grid) {
  const std::int32_t tensor = builder_.activation("", type_of_codes(grid), example_shape, grid);
  builder_.model().inputs.push_back(tensor);
  return tensor;
}

std::int32_t Lowering::input_reals(const Shape& example_shape) {
  const std::int32_t tensor = builder_.activation("", DType::float32, example_shape);
  builder_.model().inputs.push_back(tensor);
  return tensor;
}

std::int32_t Lowering::quantize_input(const Layer& layer, std::int32_t input,
                                      const QuantParams& grid) {
  require_codes_of_operators(grid, false, owner_text(layer.name()));
  const bool is_input = std::ranges::count(builder_.model().inputs, input) > 0;
  if (!is_input || !is_real(input) || options_.input == IoType::float32) {
    return op_on_grid(layer, OpCode::quantize, reals_of(input), grid);
  }
  ModelTensor& source = builder_.model().tensors[static_cast<std::size_t>(input)];
  const DType codes = type_of_codes(grid);
  if (options_.input == IoType::uint8) {
    if (codes == DType::int16) fail_uint8(layer.name(), "input");
    source.dtype = DType::uint8;
    source.quantization = as_uint8(grid);
    return op_on_grid(layer, OpCode::quantize, input, grid);
  }
  source.dtype = codes;
  source.quantization = grid;
  return input;
}

std::int32_t Lowering::op_on_grid(const Layer& layer, OpCode code, std::int32_t input,
                                  const QuantParams& grid) {
  const std::int32_t output =
      builder_.activation(layer.name(), type_of_codes(grid), layer.output_shape(), grid);
  builder_.op(code, {input}, output);
  return output;
}

void Lowering::require_rounding(const std::string& owner, Rounding rounding) {
  if (rounding_.has_value() && *rounding_ != rounding) {
    throw InvalidArgument(fmt::format(
        "{} asks for rounding {}, the layers before it for {}; a model has one contract",
        owner_text(owner), to_string(rounding), to_string(*rounding_)));
  }
  rounding_ = rounding;
}

void Lowering::quantize(Scheme scheme) {
  require_rounding(scheme.owner, scheme.rounding);
  scheme_ = std::move(scheme);
  result_used_ = false;
}

void Lowering::end_layer() {
  if (scheme_ && scheme_->result && !result_used_) {
    throw InvalidArgument(
        fmt::format("{} has a quantizer for its result, but no operator that it becomes takes a "
                    "scale; Layer::result_grid() is to say where its operators take theirs from",
                    owner_text(scheme_->owner)));
  }
  scheme_.reset();
}

/// The reals of a tensor of codes: one DEQUANTIZE for all that read them.
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

std::int32_t Lowering::quantize_result(std::int32_t result) {
  if (!scheme_ || !scheme_->in_reals || !scheme_->result || result_used_) return result;
  require_codes_of_operators(*scheme_->result, scheme_->clamps_at_zero, owner_text(scheme_->owner));
  result_used_ = true;
  return on_grid(reals_of(result), *scheme_->result);
}

std::int32_t Lowering::on_grid(std::int32_t tensor, const QuantParams& grid) {
  if (!is_real(tensor) && builder_.tensor(tensor).quantization == grid) return tensor;
  ModelTensor codes = builder_.tensor(tensor);
  codes.name += "/codes";
  codes.dtype = type_of_codes(grid);
  codes.quantization = grid;
  const std::int32_t from = reals_of(tensor);
  const std::int32_t added = builder_.add(std::move(codes));
  builder_.op(OpCode::quantize, {from}, added);
  return added;
}

/// What an operator reads: reals where the layer computes in them. The result that a softmax,
/// sigmoid or tanh reads is quantized before, and so is the function's own.
std::int32_t Lowering::operand_of(OpCode code, std::int32_t input) {
  if (!in_codes() || computes_in_codes()) return input;
  const bool is_function = definition(code).output_grid == OutputGrid::fixed;
  const bool reads_codes = is_function && scheme_ && scheme_->before_function && scheme_->result;
  return reads_codes ? quantize_result(input) : reals_of(input);
}

/// Whether a function that has a grid of its own for int8 reads int16, of which it has none: then
/// it computes in reals.
bool Lowering::leaves_codes(OpCode code, std::int32_t input) const {
  return computes_in_codes() && definition(code).output_grid == OutputGrid::fixed && is_wide(input);
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
    throw InvalidArgument(fmt::format("{} of type {} leaves its result unquantized",
                                      owner_text(scheme_->owner), layer.type()));
  }
  require_codes_of_operators(*scheme_->result, scheme_->clamps_at_zero, owner_text(scheme_->owner));
  result_used_ = true;
  return *scheme_->result;
}

QuantParams Lowering::fitting_grid(const OperatorDefinition& about,
                                   const std::vector<std::int32_t>& inputs,
                                   QuantParams measured) const {
  if (about.fitting_grid == nullptr) return measured;
  std::vector<QuantParams> grids;
  grids.reserve(inputs.size());
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
                              const std::vector<std::int32_t>& inputs, const Shape& shape,
                              std::string_view suffix) {
  const std::string name = layer.name() + std::string(suffix);
  const bool on_codes = computes_in_codes() || (scheme_ && !is_real(inputs[0]));
  if (!on_codes) return builder_.activation(name, DType::float32, shape);
  for (const std::int32_t input : inputs) require_quantized(input);
  const QuantParams grid = grid_of(layer, code, inputs);
  return builder_.activation(name, type_of_codes(grid), shape, grid);
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
  return op_of_shape(layer, code, std::move(inputs), std::move(attributes), layer.output_shape(),
                     suffix);
}

std::int32_t Lowering::op_of_shape(const Layer& layer, OpCode code,
                                   std::vector<std::int32_t> inputs,
                                   std::optional<OperatorAttributes> attributes, const Shape& shape,
                                   std::string_view suffix) {
  require_operands(layer, code, inputs.size());
  const bool in_reals = leaves_codes(code, inputs[0]);
  for (std::int32_t& input : inputs) input = in_reals ? reals_of(input) : operand_of(code, input);
  const std::int32_t output =
      in_reals ? builder_.activation(layer.name() + std::string(suffix), DType::float32, shape)
               : result(layer, code, inputs, shape, suffix);
  Operator& added = builder_.op(code, std::move(inputs), output);
  if (attributes) added.attributes = std::move(*attributes);
  return output;
}

std::int32_t Lowering::reshape(const Layer& layer, std::int32_t input) {
  return reshape_to(layer, operand_of(OpCode::reshape, input), layer.output_shape(), "");
}

std::int32_t Lowering::reshape_to(const Layer& layer, std::int32_t input, const Shape& shape,
                                  std::string_view suffix) {
  const std::int32_t output = result(layer, OpCode::reshape, {input}, shape, suffix);
  builder_.reshape(layer.name() + std::string(suffix), input, output, shape);
  return output;
}

/// An operator whose second input is a constant of int32, named as the layer with `suffix` behind.
std::int32_t Lowering::op_with_numbers(const Layer& layer, OpCode code, std::int32_t input,
                                       std::string_view suffix, std::vector<std::int32_t> shape,
                                       std::span<const std::int32_t> numbers,
                                       const OperatorAttributes& attributes) {
  const std::int32_t read = operand_of(code, input);
  const std::int32_t output = result(layer, code, {read}, layer.output_shape(), "");
  const std::int32_t constant = builder_.constant(layer.name() + std::string(suffix), DType::int32,
                                                  std::move(shape), numbers);
  builder_.op(code, {read, constant}, output, attributes);
  return output;
}

std::int32_t Lowering::pad(const Layer& layer, std::int32_t input, const Padding2D& padding) {
  // In front of and behind the batch, the rows, the columns and the channels.
  std::vector<std::int32_t> around;
  for (const Index extent : {Index{0}, Index{0}, padding.top, padding.bottom, padding.left,
                             padding.right, Index{0}, Index{0}}) {
    around.push_back(static_cast<std::int32_t>(extent));
  }
  return op_with_numbers(layer, OpCode::pad, input, "/paddings", {4, 2}, around, NoAttributes{});
}

std::int32_t Lowering::repeat_pixels(const Layer& layer, std::int32_t input) {
  const auto size_of = [](const Shape& image) {
    return std::array{static_cast<std::int32_t>(image[0]), static_cast<std::int32_t>(image[1])};
  };
  const auto size = size_of(layer.output_shape());
  const auto attributes = detail::repeating_attributes(size_of(layer.input_shape()), size);
  return op_with_numbers(layer, OpCode::resize_nearest_neighbor, input, "/size", {2}, size,
                         attributes);
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
