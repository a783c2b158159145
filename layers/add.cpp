#include <fmt/format.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/ops/elementwise.h>
#include <octet/layers/add.h>
#include <octet/layers/lowering.h>

namespace octet {

Add::Add(Activation activation, std::string name)
    : Layer(std::move(name)), activation_(activation) {
  if (quantizes_before(activation)) {
    throw InvalidArgument(
        fmt::format("Add: expected activation none, relu or relu6, found {}; add an activation "
                    "layer after it",
                    to_string(activation)));
  }
}

Shape Add::do_build_all(std::span<const Shape> input_shapes, const Random& /*random*/) {
  if (input_shapes.size() != 2 || input_shapes[0] != input_shapes[1]) {
    std::string found;
    for (const Shape& shape : input_shapes) {
      found += (found.empty() ? "" : " and ") + shape.to_string();
    }
    throw InvalidArgument(
        fmt::format("Add \"{}\": expected two inputs of one shape, found {}", name(), found));
  }
  return input_shapes[0];
}

Tensor Add::forward_all(std::span<const Tensor> inputs, const ForwardContext& /*context*/) {
  require_inputs(inputs);
  return apply_activation(activation_, add(inputs[0], inputs[1]));
}

std::unique_ptr<Layer> Add::with_activation(Activation activation) const {
  if (activation_ != Activation::none || quantizes_before(activation)) return nullptr;
  auto changed = std::make_unique<Add>(*this);
  changed->activation_ = activation;
  return changed;
}

std::int32_t Add::lower(Lowering& lowering, std::span<const std::int32_t> inputs) const {
  return lowering.op(*this, OpCode::add, {inputs.begin(), inputs.end()},
                     AddAttributes{.activation = fused_activation(activation_)});
}

void Add::describe(Description& description) const {
  description.set("activation", to_string(activation_));
}

std::unique_ptr<Layer> Add::clone() const { return std::make_unique<Add>(*this); }

std::unique_ptr<Layer> Add::make(const Description& d) {
  return std::make_unique<Add>(parse_activation(d.text("activation")));
}

}  // namespace octet
