#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/ops/conv2d.h>
#include <octet/core/ops/depthwise_conv2d.h>
#include <octet/core/ops/depthwise_conv2d_internal.h>
#include <octet/core/ops/linear.h>
#include <octet/core/ops/ops.h>
#include <octet/core/ops/transposed_conv2d.h>
#include <octet/layers/activation.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/model.h>
#include <octet/layers/program/float_operators.h>
#include <octet/layers/program/program.h>
#include <octet/layers/quantize/weight_codes.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace octet {
namespace {

/// Counts readers, and lets steps look at the whole program.
void finish(Program& program) {
  for (const Step& step : program.steps) {
    for (const std::size_t input : step.inputs) ++program.values[input].readers;
  }
  for (const std::size_t output : program.outputs) program.values[output].is_output = true;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const std::shared_ptr<StepScheme> scheme = program.steps[i].scheme;
    if (scheme != nullptr && scheme->prepare != nullptr) scheme->prepare(program, i);
  }
}

GraphValue only_result(const Layer& layer, const std::vector<GraphValue>& results) {
  if (results.size() == 1) return results.front();
  throw InvalidArgument(
      fmt::format("layer \"{}\" of type {}: expected emit() to return 1 value, "
                  "found {}",
                  layer.name(), layer.type(), results.size()));
}

template <class AnyLayer>
Program program_of_one(AnyLayer& layer) {
  if (!layer.built()) {
    throw InvalidArgument(fmt::format(
        "layer \"{}\" of type {}: expected a built layer, whose operators have shapes, found one "
        "before build()",
        layer.name(), layer.type()));
  }
  Program program;
  Graph graph(program);
  std::vector<GraphValue> inputs;
  for (const Shape& shape : layer.input_shapes()) inputs.push_back(graph.input(nullptr, shape));
  program.outputs = {only_result(layer, graph.emit(layer, inputs)).index};
  program.result_of_layer = program.outputs;
  finish(program);
  return program;
}

/// The clamp that a step is by itself; none where it is none.
FusedActivation clamp_alone(const Step& step) {
  if (step.kind != Step::Kind::op || step.scheme != nullptr) return FusedActivation::none;
  if (step.code == OpCode::relu) return FusedActivation::relu;
  return step.code == OpCode::relu6 ? FusedActivation::relu6 : FusedActivation::none;
}

bool takes_clamp(const Step& step) {
  return step.scheme == nullptr && step.kind == Step::Kind::function && step.function.takes_clamp &&
         step.clamp == FusedActivation::none;
}

/// Whether the operator of a layer with weights takes them as they lie: inputs first, units last.
bool has_operator_layout(const LayerWeights& weights) {
  const Index rank = weights.kernel.rank();
  return weights.convolution ? rank == 4 && weights.unit_axis == 3
                             : rank == 2 && weights.unit_axis == 1;
}

/// Whether it takes them together with examples x and the bias; a layer may mean something else.
bool fits_operator(const LayerWeights& weights, const Tensor& x) {
  if (!has_operator_layout(weights)) return false;
  const Index units = weights.kernel.dim(-1);
  if (weights.bias.defined() && weights.bias.shape() != Shape{units}) return false;
  return weights.convolution.has_value() || (x.rank() == 2 && x.dim(1) == weights.kernel.dim(0));
}

Tensor convolution(const LayerWeights& weights, const Tensor& images, FusedActivation clamp) {
  const Conv2DOptions& options = *weights.convolution;
  if (weights.transposed) {
    const Tensor y = transposed_conv2d(images, permute(weights.kernel, {0, 1, 3, 2}),
                                       {.stride = options.stride, .padding = options.padding});
    return apply_activation(clamp, weights.bias.defined() ? y + weights.bias : y);
  }
  if (!weights.depthwise) return conv2d(images, weights.kernel, weights.bias, clamp, options);
  const Shape& shape = weights.kernel.shape();
  const Tensor kernel = weights.kernel.reshape(
      {shape[0], shape[1], options.groups, shape[3] / std::max<Index>(1, options.groups)});
  return apply_activation(clamp, depthwise_conv2d(images, kernel, weights.bias,
                                                  {.stride = options.stride,
                                                   .dilation = options.dilation,
                                                   .padding = options.padding}));
}

Tensor linear_step(const Step& step, const Tensor& x, const ForwardContext& context) {
  if (step.folded != nullptr && step.folded->uses_batch(context)) {
    return apply_activation(step.clamp, step.folded->normalized(x, context));
  }
  return linear_in_floats(*step.layer, *step.layer->weights(), x, step.clamp);
}

}  // namespace

const Step* Program::producer(std::size_t value) const {
  const auto found = std::ranges::find(steps, value, &Step::result);
  return found == steps.end() ? nullptr : &*found;
}

Program program_of(const Model& model) {
  Program program;
  Graph graph(program);
  for (std::size_t i = 0; i < model.layers().size(); ++i) {
    Layer& layer = *model.layers()[i];
    graph.set_node(i);
    if (layer.example_shape() != nullptr) {
      program.result_of_layer.push_back(graph.input(&layer, layer.output_shape()).index);
      continue;
    }
    std::vector<GraphValue> inputs;
    for (const std::size_t input : model.inputs_of(i)) {
      inputs.push_back({program.result_of_layer[input]});
    }
    program.result_of_layer.push_back(only_result(layer, graph.emit(layer, inputs)).index);
  }
  for (const std::size_t output : model.output_layers()) {
    program.outputs.push_back(program.result_of_layer[output]);
  }
  finish(program);
  return program;
}

Program program_of(const Layer& layer) { return program_of_one(layer); }
Program program_of(Layer& layer) { return program_of_one(layer); }

Program with_fused_clamps(Program program) {
  std::vector<Step> kept;
  for (Step& step : program.steps) {
    const FusedActivation clamp = clamp_alone(step);
    const bool follows = clamp != FusedActivation::none && !kept.empty() &&
                         kept.back().result == step.inputs[0] && takes_clamp(kept.back()) &&
                         program.values[step.inputs[0]].readers == 1 &&
                         !program.values[step.inputs[0]].is_output;
    if (!follows) {
      kept.push_back(std::move(step));
      continue;
    }
    kept.back().clamp = clamp;
    kept.back().result = step.result;
  }
  program.steps = std::move(kept);
  return program;
}

Tensor linear_operator(const LayerWeights& weights, const Tensor& x, FusedActivation clamp) {
  if (!has_operator_layout(weights)) {
    throw InvalidArgument(fmt::format(
        "linear: expected a kernel whose units are last, found {} with unit_axis {}; a layer with "
        "weights of another layout overrides Layer::linear()",
        weights.kernel.shape().to_string(), weights.unit_axis));
  }
  if (!weights.convolution) return linear(x, weights.kernel, weights.bias, clamp);
  const Shape example = x.shape().without_batch();
  const Shape images = images_of(example);
  if (images == example) return convolution(weights, x, clamp);
  const Tensor y = convolution(weights, x.reshape(images.with_batch(x.dim(0))), clamp);
  Shape result = y.shape().without_batch();
  while (result.rank() > example.rank()) result = result.without_dim(0);
  return y.reshape(result.with_batch(x.dim(0)));
}

Tensor linear_in_floats(const Layer& layer, const LayerWeights& weights, const Tensor& x,
                        FusedActivation clamp) {
  if (fits_operator(weights, x)) return linear_operator(weights, x, clamp);
  return apply_activation(clamp, layer.linear(x, weights.kernel, weights.bias));
}

bool calls_forward(const Layer& layer) {
  const Program program = program_of(layer);
  return std::ranges::any_of(program.steps, [](const Step& step) {
    return step.kind == Step::Kind::function && step.function.calls_layer;
  });
}

Tensor run_in_floats(const Step& step, const Shape& result, std::span<const Tensor> x,
                     const ForwardContext& context) {
  switch (step.kind) {
    case Step::Kind::op:
      if (context.logits && step.code == OpCode::softmax) return x[0];
      return float_operator(step, result, x);
    case Step::Kind::linear:
      return linear_step(step, x[0], context);
    case Step::Kind::function:
      return step.function.run(x, context, step.clamp);
    case Step::Kind::quantize:
      break;
  }
  throw InvalidArgument(
      fmt::format("layer \"{}\": expected a step that computes in floats", step.layer->name()));
}

}  // namespace octet
