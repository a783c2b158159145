#include <octet/core/ops/elementwise.h>
#include <octet/layers/lowering.h>
#include <octet/layers/multiply.h>

namespace octet {

Multiply::Multiply(Activation activation, std::string name)
    : Merge(kType, activation, std::move(name)) {}

Tensor Multiply::forward_all(std::span<const Tensor> inputs, const ForwardContext& /*context*/) {
  require_inputs(inputs);
  return apply_activation(activation(), mul(inputs[0], inputs[1]));
}

std::int32_t Multiply::lower(Lowering& lowering, std::span<const std::int32_t> inputs) const {
  return lowering.op(*this, OpCode::mul, {inputs.begin(), inputs.end()},
                     BinaryAttributes{.activation = fused_activation(activation())});
}

std::unique_ptr<Layer> Multiply::clone() const { return std::make_unique<Multiply>(*this); }

std::unique_ptr<Layer> Multiply::make(const Description& description) {
  return std::make_unique<Multiply>(merge_activation(description));
}

}  // namespace octet
