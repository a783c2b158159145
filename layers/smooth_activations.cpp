#include <octet/core/arithmetic/elu.h>
#include <octet/core/arithmetic/gelu.h>
#include <octet/core/description.h>
#include <octet/layers/graph.h>
#include <octet/layers/program/float_operators.h>
#include <octet/layers/smooth_activations.h>

namespace octet {

std::vector<GraphValue> ELU::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  return {graph.op(OpCode::elu, {inputs[0]})};
}

std::unique_ptr<Layer> ELU::make(const Description& /*description*/) {
  return std::make_unique<ELU>();
}

std::vector<GraphValue> GELU::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  return {graph.op(OpCode::gelu, {inputs[0]}, GeluAttributes{.approximate = approximate_})};
}

void GELU::describe(Description& description) const {
  description.set("approximate", approximate_);
}

std::unique_ptr<Layer> GELU::make(const Description& d) {
  return std::make_unique<GELU>(GELUOptions{.approximate = d.flag("approximate")});
}

std::vector<GraphValue> SiLU::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  const GraphValue gate = graph.op(OpCode::logistic, {inputs[0]}, std::nullopt, "/gate");
  return {graph.op(OpCode::mul, {inputs[0], gate})};
}

std::unique_ptr<Layer> SiLU::make(const Description& /*description*/) {
  return std::make_unique<SiLU>();
}

/// x above 0, e^x - 1 below.
Tensor float_forms::elu(const FloatCall& call) {
  return smooth("elu", Work::transcendental, call.x[0], detail::elu, detail::elu_slope);
}

/// x times the distribution function of a standard normal variable.
Tensor float_forms::gelu(const FloatCall& call) {
  const auto form = call.as<GeluAttributes>().approximate ? detail::GeluForm::approximate
                                                          : detail::GeluForm::exact;
  return smooth(
      "gelu", Work::transcendental, call.x[0], [form](float v) { return detail::gelu(v, form); },
      [form](float v) { return detail::gelu_slope(v, form); });
}

}  // namespace octet
