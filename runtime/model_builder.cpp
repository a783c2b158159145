#include <octet/runtime/model_builder.h>

namespace octet {

std::int32_t ModelBuilder::add(ModelTensor tensor) {
  model_.tensors.push_back(std::move(tensor));
  return static_cast<std::int32_t>(model_.tensors.size() - 1);
}

std::int32_t ModelBuilder::activation(std::string name, DType dtype, const Shape& example_shape,
                                      QuantParams quantization) {
  ModelTensor tensor;
  tensor.name = std::move(name);
  tensor.dtype = dtype;
  tensor.shape = {1};
  tensor.shape_signature = {-1};
  for (const Index extent : example_shape) {
    tensor.shape.push_back(static_cast<std::int32_t>(extent));
    tensor.shape_signature.push_back(static_cast<std::int32_t>(extent));
  }
  tensor.quantization = std::move(quantization);
  return add(std::move(tensor));
}

Operator& ModelBuilder::op(OpCode code, std::vector<std::int32_t> inputs, std::int32_t output,
                           OperatorAttributes attributes) {
  Operator added;
  added.code = code;
  added.inputs = std::move(inputs);
  added.outputs = {output};
  added.attributes = std::move(attributes);
  return model_.operators.emplace_back(std::move(added));
}

Operator& ModelBuilder::op(OpCode code, std::vector<std::int32_t> inputs, std::int32_t output) {
  return op(code, std::move(inputs), output, default_attributes(code));
}

void ModelBuilder::reshape(std::string name, std::int32_t input, std::int32_t output,
                           const Shape& example_shape) {
  std::vector<std::int32_t> target = {-1};
  for (const Index extent : example_shape) target.push_back(static_cast<std::int32_t>(extent));
  reshape_to(std::move(name), input, output, target);
}

void ModelBuilder::reshape_to(std::string name, std::int32_t input, std::int32_t output,
                              const std::vector<std::int32_t>& target) {
  const auto rank = static_cast<std::int32_t>(target.size());
  const std::int32_t shape = constant(std::move(name) + "/shape", DType::int32, {rank},
                                      std::span<const std::int32_t>(target));
  op(OpCode::reshape, {input, shape}, output, ReshapeAttributes{.new_shape = target});
}

}  // namespace octet
