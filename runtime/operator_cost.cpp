#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/runtime/operator_cost.h>
#include <octet/runtime/operators/definitions.h>
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

std::size_t bytes_of(const IntegerModel& model, const std::set<std::int32_t>& constants) {
  std::size_t bytes = 0;
  for (const std::int32_t i : constants) {
    bytes += model.tensors[static_cast<std::size_t>(i)].stored_bytes();
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
  const auto multiply_adds = definition(operands.op.code).multiply_adds;
  return {.multiply_adds = multiply_adds == nullptr ? 0 : multiply_adds(operands),
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
