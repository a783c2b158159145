#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/layers/add.h>
#include <octet/layers/lowering.h>

namespace octet {

Add::Add(Activation activation, std::string name) : Merge(kType, activation, std::move(name)) {}

Tensor Add::forward_all(std::span<const Tensor> inputs, const ForwardContext& /*context*/) {
  require_inputs(inputs);
  if (inputs[0].shape() != inputs[1].shape()) {
    return apply_activation(activation(), add(inputs[0], inputs[1]));
  }
  return add(inputs[0], inputs[1], fused_activation(activation()));
}

std::int32_t Add::lower(Lowering& lowering, std::span<const std::int32_t> inputs) const {
  return lowering.op(*this, OpCode::add, {inputs.begin(), inputs.end()},
                     BinaryAttributes{.activation = fused_activation(activation())});
}

std::unique_ptr<Layer> Add::clone() const { return std::make_unique<Add>(*this); }

std::unique_ptr<Layer> Add::make(const Description& description) {
  return std::make_unique<Add>(merge_activation(description));
}

}  // namespace octet
