#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/graph.h>
#include <octet/layers/program/program.h>

#include <algorithm>
#include <utility>

namespace octet {
namespace {

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
  program.outputs = {graph.emit(layer, inputs).front().index};
  program.result_of_layer = program.outputs;
  count_readers(program);
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

}  // namespace

const Step* Program::producer(std::size_t value) const {
  const auto found = std::ranges::find(steps, value, &Step::result);
  return found == steps.end() ? nullptr : &*found;
}

LayerWeights weights_of(const Step& step) {
  return step.weights ? step.weights() : step.layer->weights().value();
}

LayerWeights weights_of(const Step& step, const StepInputs& in) {
  return in.weights != nullptr ? *in.weights : weights_of(step);
}

Tensor parameter_of(const Step& step) {
  return step.weights ? step.weights().kernel : step.parameter;
}

void count_readers(Program& program) {
  for (const Step& step : program.steps) {
    for (const std::size_t input : step.inputs) ++program.values[input].readers;
  }
  for (const std::size_t output : program.outputs) program.values[output].is_output = true;
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

}  // namespace octet
