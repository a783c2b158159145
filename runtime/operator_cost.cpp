#include <octet/runtime/operator_cost.h>

#include <fmt/format.h>

#include <octet/core/error.h>
#include <octet/runtime/operators/operands.h>

#include <set>

namespace octet {
namespace {

/// The constants that an operator reads.
std::set<std::int32_t> constants_of(const IntegerModel& model, const Operator& op) {
  std::set<std::int32_t> constants;
  for (const std::int32_t i : op.inputs) {
    if (i != -1 && model.tensors[static_cast<std::size_t>(i)].is_constant()) constants.insert(i);
  }
  return constants;
}

/// Products of an input and a weight that are summed for one output; 0 where there are no weights.
std::int64_t products_per_output(const detail::Operands& operands) {
  const auto weights_per_unit = [&](std::size_t axis_of_units) {
    return operands.input(1).size() / operands.input(1).shape[axis_of_units];
  };
  switch (operands.op.code) {
    case OpCode::conv_2d:
    case OpCode::fully_connected:
      return weights_per_unit(0);
    case OpCode::depthwise_conv_2d:
      return weights_per_unit(3);
    case OpCode::add:
    case OpCode::average_pool_2d:
    case OpCode::concatenation:
    case OpCode::dequantize:
    case OpCode::hard_swish:
    case OpCode::leaky_relu:
    case OpCode::logistic:
    case OpCode::max_pool_2d:
    case OpCode::mul:
    case OpCode::pad:
    case OpCode::quantize:
    case OpCode::relu:
    case OpCode::relu6:
    case OpCode::relu_n1_to_1:
    case OpCode::reshape:
    case OpCode::resize_nearest_neighbor:
    case OpCode::softmax:
    case OpCode::tanh:
      return 0;
  }
  throw FormatError(fmt::format("unknown operator code {}", static_cast<int>(operands.op.code)));
}

std::size_t bytes_of(const IntegerModel& model, const std::set<std::int32_t>& constants) {
  std::size_t bytes = 0;
  for (const std::int32_t i : constants) {
    bytes += model.tensors[static_cast<std::size_t>(i)].data.size();
  }
  return bytes;
}

}  // namespace

OperatorCost operator_cost(const IntegerModel& model, std::size_t index) {
  if (index >= model.operators.size()) {
    throw InvalidArgument(fmt::format("operator_cost: the model has {} operators, found index {}",
                                      model.operators.size(), index));
  }
  const detail::Operands operands(model, model.operators[index]);
  return {.multiply_adds = operands.output().size() * products_per_output(operands),
          .constant_bytes = bytes_of(model, constants_of(model, operands.op))};
}

OperatorCost model_cost(const IntegerModel& model) {
  OperatorCost total;
  std::set<std::int32_t> constants;
  for (std::size_t i = 0; i < model.operators.size(); ++i) {
    total.multiply_adds += operator_cost(model, i).multiply_adds;
    constants.merge(constants_of(model, model.operators[i]));
  }
  total.constant_bytes = bytes_of(model, constants);
  return total;
}

}  // namespace octet
