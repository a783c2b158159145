// What a layer computes by the operators that it emits, unless it says otherwise.

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/graph.h>
#include <octet/layers/layer.h>
#include <octet/layers/program/float_linear.h>
#include <octet/layers/program/program_run.h>

#include <algorithm>
#include <utility>

namespace octet {

std::vector<GraphValue> Layer::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  if (weights()) return {graph.linear(inputs[0])};
  return {graph.call(inputs)};
}

Shape Layer::result_shape(std::span<const Shape> input_shapes) const {
  return Graph::shape_of(*this, input_shapes);
}

Tensor Layer::forward_all(std::span<const Tensor> inputs, const ForwardContext& context) {
  require_inputs(inputs);
  Program program = program_of(*this);
  const auto calls = [](const Step& step) { return step.function.calls_layer; };
  if (std::ranges::any_of(program.steps, calls)) {
    throw InvalidArgument(
        fmt::format("{} \"{}\": expected a layer that overrides emit() or forward_all(), found "
                    "neither",
                    type(), name_));
  }
  return run_alone(std::move(program), inputs, context);
}

Tensor Layer::linear(const Tensor& x, const Tensor& kernel, const Tensor& bias) const {
  require_built();
  std::optional<LayerWeights> own = weights();
  if (!own) {
    throw InvalidArgument(
        fmt::format("{} \"{}\": expected a layer with a kernel, found one without", type(), name_));
  }
  if (own->own_layout) return own->own_layout(x, kernel, bias);
  // In the layout of weights() or of the layer's own.
  const bool other = own->kernel.defined() && own->kernel.size() == kernel.size();
  own->kernel = other ? kernel.reshape(own->kernel.shape()) : kernel;
  own->bias = bias;
  return float_linear(*own, x, FusedActivation::none);
}

}  // namespace octet
