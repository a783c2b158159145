#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/activation_function.h>
#include <octet/layers/find_folded_batch_norm.h>
#include <octet/layers/graph.h>
#include <octet/layers/image_layer.h>
#include <octet/layers/program/float_linear.h>
#include <octet/layers/program/float_operators.h>
#include <octet/layers/program/linear_operator.h>
#include <octet/layers/program/program.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/runtime/operators/resize_bilinear.h>
#include <octet/runtime/operators/resize_nearest_neighbor.h>

#include <algorithm>
#include <utility>

namespace octet {
namespace {

std::vector<std::int32_t> as_int32(const Layer& layer, std::initializer_list<Index> numbers) {
  std::vector<std::int32_t> result;
  for (const Index number : numbers) result.push_back(detail::as_int32(layer, number));
  return result;
}

/// Throws InvalidArgument that names the layer unless the operator takes `count` inputs.
void require_operands(const Layer& layer, OpCode code, std::size_t count) {
  const OperatorDefinition& about = definition(code);
  if (count >= about.least_inputs && count <= about.most_inputs) return;
  const std::string expected =
      about.least_inputs == about.most_inputs
          ? fmt::format("{} input{}", about.least_inputs, about.least_inputs == 1 ? "" : "s")
          : fmt::format("{} to {} inputs", about.least_inputs, about.most_inputs);
  throw InvalidArgument(fmt::format("layer \"{}\" of type {}: {}: expected {}, found {}",
                                    layer.name(), layer.type(), about.name, expected, count));
}

/// Throws InvalidArgument that names the layer for an operator that a function of Graph stands for.
void require_no_function(const Layer& layer, OpCode code) {
  const std::string_view function = code == OpCode::reshape                        ? "reshape"
                                    : code == OpCode::unidirectional_sequence_lstm ? "sequence_lstm"
                                    : code == OpCode::pad                          ? "pad"
                                    : code == OpCode::resize_nearest_neighbor      ? "repeat_pixels"
                                    : code == OpCode::resize_bilinear              ? "resize"
                                    : code == OpCode::strided_slice                ? "slice"
                                    : code == OpCode::split                        ? "slice"
                                    : code == OpCode::transpose                    ? "transpose"
                                                                                   : "";
  if (function.empty()) return;
  throw InvalidArgument(
      fmt::format("layer \"{}\" of type {}: expected Graph::{}() for {}, found "
                  "Graph::op()",
                  layer.name(), layer.type(), function, to_string(code)));
}

/// Throws InvalidArgument that names the layer for attributes of another operator.
void require_attributes(const Layer& layer, OpCode code, const OperatorAttributes& found,
                        const OperatorAttributes& expected) {
  if (found.index() == expected.index()) return;
  throw InvalidArgument(
      fmt::format("layer \"{}\" of type {}: expected the attributes of {}, found those of another "
                  "operator",
                  layer.name(), layer.type(), to_string(code)));
}

/// No examples, of a shape.
Tensor none_of(const Shape& example) { return Tensor(example.with_batch(0)); }

}  // namespace

/// The shape of what the layer that emits makes of `inputs`, where no operator says it.
Shape Graph::shape_of_result(std::span<const GraphValue> inputs) const {
  if (layer_ != shaped_) return layer_->output_shape();
  const std::optional<LayerWeights> weights = layer_->weights();
  if (weights && has_operator_layout(*weights)) {
    return shape_given(*layer_, "", [&] {
      return float_linear(*weights, none_of(shape(inputs[0])), FusedActivation::none);
    });
  }
  throw InvalidArgument(fmt::format(
      "layer \"{}\" of type {}: expected a layer that overrides emit(), or forward_all() "
      "and result_shape(), found neither",
      layer_->name(), layer_->type()));
}

const Shape& Graph::shape(GraphValue value) const {
  if (value.index >= program_.values.size()) {
    throw InvalidArgument(fmt::format(
        "layer \"{}\" of type {}: expected a value of this graph, found number {} of {}",
        layer_->name(), layer_->type(), value.index, program_.values.size()));
  }
  return program_.values[value.index].shape;
}

std::vector<GraphValue> Graph::beside(GraphValue result) const {
  static_cast<void>(shape(result));  // Throws for a value of another graph.
  std::vector<GraphValue> values;
  for (const std::size_t value : program_.values[result.index].beside) values.push_back({value});
  return values;
}

bool Graph::is_from_outside(GraphValue value) const {
  static_cast<void>(shape(value));  // Throws for a value of another graph.
  return program_.values[value.index].layer == nullptr;
}

Step Graph::step_of(std::span<const GraphValue> inputs) const {
  Step step;
  step.layer = layer_;
  step.node = node_;
  for (const GraphValue input : inputs) {
    static_cast<void>(shape(input));  // Throws for a value of another graph.
    if (program_.values[input.index].is_parameter) {
      step.parameter_inputs.push_back(step.inputs.size());
    }
    step.inputs.push_back(input.index);
  }
  return step;
}

/// step_of() an operator that reads one value, which has to belong to examples.
Step Graph::step_of_example(GraphValue x) const {
  Step step = step_of({&x, 1});
  if (step.parameter_inputs.empty()) return step;
  throw InvalidArgument(fmt::format(
      "layer \"{}\" of type {}: expected a value that belongs to an example, found the parameter "
      "\"{}\"; compute what is to be read of it in the layer, and make that a parameter",
      layer_->name(), layer_->type(), program_.values[x.index].suffix));
}

/// Numbers an earlier value of the layer that has the suffix: the last keeps it.
void Graph::number_earlier(const std::string& suffix) {
  const auto [at, is_new] = suffixes_.try_emplace(suffix);
  auto& [last, count] = at->second;
  if (!is_new) program_.values[last].suffix += fmt::format("/{}", count);
  ++count;
  last = program_.values.size();
}

/// The name of a tensor of the layer: "forward_kernel" in the part "/forward".
std::string Graph::name_in_part(std::string_view name) const {
  return part_.empty() ? std::string(name) : fmt::format("{}_{}", part_.substr(1), name);
}

/// The suffix of a value without what append() puts in front of those of a part.
std::string Graph::suffix_in_part(GraphValue value) const {
  const std::string& suffix = program_.values[value.index].suffix;
  return suffix.starts_with(part_) ? suffix.substr(part_.size()) : suffix;
}

/// Throws InvalidArgument unless `name` can begin the names of state and stand in those of tensors.
void Graph::require_tensor_name(std::string_view name) const {
  if (!name.empty() && name.find('/') == std::string_view::npos) return;
  throw InvalidArgument(fmt::format(
      "layer \"{}\" of type {}: expected a name for a kernel or another parameter, without \"/\", "
      "found \"{}\"",
      layer_->name(), layer_->type(), name));
}

GraphValue Graph::append(Step step, const Shape& shape, std::string_view suffix) {
  step.result = program_.values.size();
  const std::string name = part_ + time_ + std::string(suffix);
  number_earlier(name);
  program_.values.push_back({named_, name, shape});
  program_.steps.push_back(std::move(step));
  return {program_.values.size() - 1};
}

GraphValue Graph::op(OpCode code, const std::vector<GraphValue>& inputs,
                     std::optional<OperatorAttributes> attributes, std::string_view suffix) {
  require_no_function(*layer_, code);
  require_operands(*layer_, code, inputs.size());
  Step step = step_of(inputs);
  if (step.parameter_inputs.size() == inputs.size()) {
    throw InvalidArgument(
        fmt::format("layer \"{}\" of type {}: {}: expected an input that belongs to an example, "
                    "found parameters "
                    "alone; compute what they give in the layer, and make it a parameter",
                    layer_->name(), layer_->type(), definition(code).name));
  }
  step.code = code;
  step.attributes = default_attributes(code);
  if (attributes) {
    require_attributes(*layer_, code, *attributes, step.attributes);
    step.attributes = *std::move(attributes);
  }
  return append_op(std::move(step), inputs, suffix);
}

GraphValue Graph::append_op(Step step, std::span<const GraphValue> inputs,
                            std::string_view suffix) {
  std::vector<Shape> shapes;
  shapes.reserve(inputs.size());
  for (const GraphValue input : inputs) shapes.push_back(shape(input));
  const Shape result = result_shape(step, shapes);
  return append(std::move(step), result, suffix);
}

std::vector<GraphValue> Graph::sequence_lstm(GraphValue x, std::span<const GraphValue> kernels,
                                             std::span<const GraphValue> first,
                                             std::function<Tensor()> bias,
                                             std::string_view suffix) {
  std::vector<GraphValue> inputs = {x};
  inputs.insert(inputs.end(), kernels.begin(), kernels.end());
  inputs.insert(inputs.end(), first.begin(), first.end());
  Step step = step_of(inputs);
  step.code = OpCode::unidirectional_sequence_lstm;
  step.attributes = default_attributes(step.code);
  step.weights = [bias = std::move(bias)] { return LayerWeights{{}, bias()}; };
  std::vector<GraphValue> results = {append_op(step, inputs, suffix)};
  if (first.empty()) return results;
  step.output = 2;
  results.push_back(append_op(std::move(step), inputs, "/cell_behind"));
  return results;
}

GraphValue Graph::linear(GraphValue x) {
  const std::optional<LayerWeights> weights = layer_->weights();
  if (!weights) {
    throw InvalidArgument(
        fmt::format("layer \"{}\" of type {}: expected weights() for Graph::linear(), found none",
                    layer_->name(), layer_->type()));
  }
  const Activation f = layer_->activation();
  const bool ends_in_function = quantizes_before(f);
  const std::string suffix = ends_in_function ? "/linear" : "";
  const Shape output = shape_of_result({&x, 1});
  const bool reshaped = weights->convolution && images_of(shape(x)) != shape(x);
  if (reshaped) x = reshape(x, images_of(shape(x)), "/images");
  Step step = step_of_example(x);
  step.kind = Step::Kind::linear;
  step.code = operator_of(*weights);
  step.clamp = ends_in_function ? FusedActivation::none : fused_activation(f);
  step.folded = running_ == nullptr ? nullptr : folded_batch_norm(*running_);
  GraphValue y = append(std::move(step), reshaped ? images_of(output) : output,
                        suffix + (reshaped ? "/convolution" : ""));
  if (reshaped) y = reshape(y, output, suffix);
  return ends_in_function ? activate(y, f) : y;
}

GraphValue Graph::linear(GraphValue x, std::string_view name, std::function<LayerWeights()> weights,
                         std::string_view suffix) {
  require_tensor_name(name);
  Step step = step_of_example(x);
  step.kind = Step::Kind::linear;
  step.weights = std::move(weights);
  step.weights_name = name_in_part(name);
  // Weights of one name have one shape: those that a scan repeats are not made for each step of
  // time.
  const auto repeats = [&](const Step& other) {
    return other.kind == Step::Kind::linear && other.layer == step.layer &&
           other.weights_name == step.weights_name && shape({other.inputs[0]}) == shape(x);
  };
  const auto before = std::find_if(program_.steps.rbegin(), program_.steps.rend(), repeats);
  if (before != program_.steps.rend()) {
    step.code = before->code;
    const Shape result = shape({before->result});
    return append(std::move(step), result, suffix);
  }
  const LayerWeights now = step.weights();
  step.code = operator_of(now);
  const Shape result = shape_given(*layer_, fmt::format("{}: ", name), [&] {
    return float_linear(now, none_of(shape(x)), FusedActivation::none);
  });
  return append(std::move(step), result, suffix);
}

GraphValue Graph::append_parameter(std::string_view name, Step step) {
  require_tensor_name(name);
  step.kind = Step::Kind::parameter;
  step.weights_name = name_in_part(name);
  const Shape shape = parameter_of(step).shape();
  const GraphValue value = append(std::move(step), shape, fmt::format("/{}", name));
  program_.values[value.index].is_parameter = true;
  return value;
}

GraphValue Graph::parameter(std::string_view name, const Tensor& tensor) {
  Step step = step_of({});
  step.parameter = tensor;
  return append_parameter(name, std::move(step));
}

GraphValue Graph::parameter(std::string_view name, std::function<Tensor()> kernel) {
  Step step = step_of({});
  step.weights = [kernel = std::move(kernel)] { return LayerWeights{kernel(), {}}; };
  return append_parameter(name, std::move(step));
}

GraphValue Graph::activate(GraphValue x, Activation f) {
  return f == Activation::none ? x : op(operator_of(f), {x});
}

GraphValue Graph::reshape(GraphValue x, const Shape& shape, std::string_view suffix) {
  if (this->shape(x).size() != shape.size()) {
    throw InvalidArgument(fmt::format(
        "layer \"{}\" of type {}: expected a shape of {} values to reshape {} to, found {}",
        layer_->name(), layer_->type(), this->shape(x).size(), this->shape(x).to_string(),
        shape.to_string()));
  }
  return append(step_of_example(x), shape, suffix);
}

void Graph::end_range_below_rows(GraphValue x, float reach) {
  static_cast<void>(shape(x));  // Throws for a value of another graph.
  const auto step = std::ranges::find(program_.steps, x.index, &Step::result);
  if (step == program_.steps.end()) {
    throw InvalidArgument(fmt::format(
        "layer \"{}\" of type {}: end_range_below_rows: expected a result of an operator, found "
        "what the layer reads",
        layer_->name(), layer_->type()));
  }
  step->reach = reach;
}

GraphValue Graph::pad(GraphValue x, const Padding2D& padding, std::string_view suffix) {
  detail::require_images(*layer_, shape(x));
  Step step = step_of_example(x);
  step.code = OpCode::pad;
  step.attributes = NoAttributes{};
  // In front of and behind the batch, the rows, the columns and the channels.
  step.numbers =
      as_int32(*layer_, {0, 0, padding.top, padding.bottom, padding.left, padding.right, 0, 0});
  const Shape result = result_shape(step, {&shape(x), 1});
  return append(std::move(step), result, suffix);
}

GraphValue Graph::repeat_pixels(GraphValue x, const std::array<Index, 2>& factors,
                                std::string_view suffix) {
  detail::require_images(*layer_, shape(x));
  Step step = step_of_example(x);
  step.code = OpCode::resize_nearest_neighbor;
  const Shape image = shape(x);
  const Shape result =
      shape_given(*layer_, "", [&] { return upsample2d(none_of(image), factors); });
  step.numbers = as_int32(*layer_, {result[0], result[1]});
  const std::vector<std::int32_t> size = as_int32(*layer_, {image[0], image[1]});
  step.attributes =
      detail::repeating_attributes({size[0], size[1]}, {step.numbers[0], step.numbers[1]});
  return append(std::move(step), result, suffix);
}

GraphValue Graph::resize(GraphValue x, const std::array<Index, 2>& size,
                         ResizeCoordinates coordinates, std::string_view suffix) {
  detail::require_images(*layer_, shape(x));
  Step step = step_of_example(x);
  step.code = OpCode::resize_bilinear;
  step.attributes = detail::resize_attributes(coordinates);
  step.numbers = as_int32(*layer_, {size[0], size[1]});
  const Shape result = result_shape(step, {&shape(x), 1});
  return append(std::move(step), result, suffix);
}

GraphValue Graph::slice(GraphValue x, const std::vector<AxisSlice>& axes, std::string_view suffix) {
  Step step = step_of_example(x);
  step.code = OpCode::strided_slice;
  // The masks take all of the batch, whatever the numbers in front say.
  step.attributes = StridedSliceAttributes{.begin_mask = 1, .end_mask = 1};
  for (const auto place : {&AxisSlice::begin, &AxisSlice::end, &AxisSlice::step}) {
    step.numbers.push_back(place == &AxisSlice::step ? 1 : 0);
    for (const AxisSlice& axis : axes)
      step.numbers.push_back(detail::as_int32(*layer_, axis.*place));
  }
  const Shape result = result_shape(step, {&shape(x), 1});
  return append(std::move(step), result, suffix);
}

GraphValue Graph::transpose(GraphValue x, const std::vector<Index>& axes, std::string_view suffix) {
  Step step = step_of_example(x);
  step.code = OpCode::transpose;
  step.attributes = NoAttributes{};
  step.numbers = {0};
  for (const Index axis : axes) step.numbers.push_back(static_cast<std::int32_t>(axis) + 1);
  const Shape result = result_shape(step, {&shape(x), 1});
  return append(std::move(step), result, suffix);
}

GraphValue Graph::function(std::span<const GraphValue> inputs, const Shape& result,
                           TensorFunction function) {
  Step step = step_of(inputs);
  step.kind = Step::Kind::function;
  step.stream = functions_++;
  step.function = std::move(function);
  return append(std::move(step), result, "");
}

GraphValue Graph::call(std::span<const GraphValue> inputs) {
  TensorFunction called{.calls_layer = true};
  if (running_ != nullptr) {
    called.run = [layer = running_](std::span<const Tensor> x, const ForwardContext& context,
                                    FusedActivation /*clamp*/) {
      return layer->forward_all(x, context);
    };
  }
  return function(inputs, shape_of_result(inputs), std::move(called));
}

GraphValue Graph::input(const Layer* layer, const Shape& shape) {
  program_.values.push_back({layer, "", shape});
  return {program_.values.size() - 1};
}

GraphValue Graph::quantize(GraphValue x) {
  Step step = step_of({&x, 1});
  step.kind = Step::Kind::quantize;
  return append(std::move(step), shape(x), "");
}

std::size_t Graph::step_count() const { return program_.steps.size(); }

std::span<Step> Graph::steps_from(std::size_t first) {
  return std::span(program_.steps).subspan(first);
}

}  // namespace octet
