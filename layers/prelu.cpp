#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/graph.h>
#include <octet/layers/prelu.h>
#include <octet/layers/program/float_operators.h>

#include <cmath>

namespace octet {

PReLU::PReLU(float alpha, std::string name) : Layer(std::move(name)), start_(alpha) {
  if (!std::isfinite(alpha)) {
    throw InvalidArgument(fmt::format("PReLU: expected a finite alpha, found {}", alpha));
  }
}

PReLU::PReLU(const PReLU& other)
    : Layer(other), start_(other.start_), alpha_(clone_leaf(other.alpha_)) {}

std::vector<GraphValue> PReLU::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  return {graph.op(OpCode::prelu, {inputs[0], graph.parameter("alpha", alpha_)})};
}

void PReLU::describe(Description& description) const { description.set("alpha", double{start_}); }

std::unique_ptr<Layer> PReLU::make(const Description& d) {
  return std::make_unique<PReLU>(d.float_number("alpha"));
}

void PReLU::make_tensors(std::span<const Shape> input_shapes, const Random& /*random*/) {
  const Shape& input_shape = input_shapes[0];
  if (input_shape.rank() == 0) {
    throw InvalidArgument(fmt::format("PReLU \"{}\": expected examples [.., channels], found {}",
                                      name(), input_shape.to_string()));
  }
  alpha_ = Tensor::full({input_shape.dim(-1)}, start_).set_requires_grad(true);
}

/// max(x, 0) + alpha min(x, 0); alpha broadcasts to x.
Tensor float_forms::prelu(const FloatCall& call) { return octet::prelu(call.x[0], call.x[1]); }

}  // namespace octet
