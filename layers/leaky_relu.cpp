#include <fmt/core.h>
#include <octet/core/arithmetic/comparisons.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/graph.h>
#include <octet/layers/leaky_relu.h>
#include <octet/layers/program/float_operators.h>

#include <cmath>

namespace octet {

LeakyReLU::LeakyReLU(float alpha, std::string name) : Layer(std::move(name)), alpha_(alpha) {
  if (!(std::isfinite(alpha) && alpha >= 0.0F)) {
    throw InvalidArgument(
        fmt::format("LeakyReLU: expected a finite alpha of 0 or more, found {}", alpha));
  }
}

std::vector<GraphValue> LeakyReLU::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  return {graph.op(OpCode::leaky_relu, {inputs[0]}, LeakyReluAttributes{.alpha = alpha_})};
}

void LeakyReLU::describe(Description& description) const {
  description.set("alpha", double{alpha_});
}

std::unique_ptr<Layer> LeakyReLU::make(const Description& d) {
  return std::make_unique<LeakyReLU>(d.float_number("alpha"));
}

std::unique_ptr<Layer> LeakyReLU::clone() const { return std::make_unique<LeakyReLU>(*this); }

/// max(x, 0) + alpha min(x, 0).
Tensor float_forms::leaky_relu(const FloatCall& call) {
  const float alpha = call.as<LeakyReluAttributes>().alpha;
  return smooth(
      "leaky_relu", Work::map_floats, call.x[0],
      [alpha](float v) { return detail::leaky_relu(v, alpha); },
      [alpha](float v) { return detail::leaky_relu_slope(v, alpha); });
}

}  // namespace octet
