#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>

namespace octet {
namespace detail {

std::size_t index_of(OpCode code) {
  const auto found = std::ranges::find(kOpCodes, code);
  if (found == kOpCodes.end()) {
    throw FormatError(fmt::format("operator code {} is not supported", static_cast<int>(code)));
  }
  return static_cast<std::size_t>(found - kOpCodes.begin());
}

}  // namespace detail

const OperatorDefinition& definition(OpCode code) {
  static const std::array table = {
#define OCTET_ROW(name, ...) detail::definitions::name(),
#include <octet/runtime/operators.def>
  };
  return table[detail::index_of(code)];
}

bool is_known(OpCode code) { return std::ranges::find(kOpCodes, code) != kOpCodes.end(); }

std::string_view to_string(OpCode code) {
  return is_known(code) ? definition(code).name : "unknown operator";
}

OperatorAttributes default_attributes(OpCode code) {
  static const std::array<OperatorAttributes, kOpCodes.size()> table = {
#define OCTET_ROW(name, number, attributes, ...) attributes{},
#include <octet/runtime/operators.def>
  };
  return table[detail::index_of(code)];
}

FusedActivation Operator::activation() const {
  return std::visit(
      [](const auto& any) {
        if constexpr (requires { any.activation; }) return any.activation;
        return FusedActivation::none;
      },
      attributes);
}

void Operator::fail_attributes() const {
  throw FormatError(
      fmt::format("{} holds the attributes of another operator; make them with "
                  "default_attributes() or the struct of its name",
                  to_string(code)));
}

namespace detail {

void check_operator(const IntegerModel& model, std::size_t index) {
  const OperatorView view(model, index);
  const Operator& op = view.op;
  if (!is_known(op.code)) {
    view.fail(fmt::format("unknown operator code {}", static_cast<int>(op.code)));
  }
  const OperatorDefinition& rules = definition(op.code);
  if (op.attributes.index() != default_attributes(op.code).index()) {
    view.fail("holds the attributes of another operator");
  }
  if (op.inputs.size() < rules.least_inputs || op.inputs.size() > rules.most_inputs ||
      op.outputs.empty() || op.outputs.size() > rules.most_outputs) {
    view.fail(fmt::format(
        "expected {} to {} inputs and {}, found {} and {}", rules.least_inputs, rules.most_inputs,
        rules.most_outputs == 1 ? "1 output" : fmt::format("1 to {} outputs", rules.most_outputs),
        op.inputs.size(), op.outputs.size()));
  }
  for (std::size_t i = 0; i < rules.least_inputs; ++i) {
    if (op.inputs[i] == -1) view.fail(fmt::format("input {} is absent", i));
  }
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const int least = i == 1 ? rules.least_weight_bits : 8;
    if (!view.has_input(i) || view.input(i).stored_bits >= least) continue;
    view.fail(fmt::format("input {} '{}' is stored in {} bits, expected {} or more", i,
                          view.input(i).name, view.input(i).stored_bits, least));
  }
  rules.check(view);
}

bool has_weights(OpCode code) { return definition(code).multiply_adds != nullptr; }

std::size_t kernel_bytes(const Operands& operands) {
  const OperatorDefinition& of = definition(operands.op.code);
  return of.kernel_bytes == nullptr ? 0 : of.kernel_bytes(operands);
}

int first_version(const Operands& /*operands*/) { return 1; }

int version_by_axes(const Operands& operands) {
  constexpr std::size_t kFirstMostRank = 4;
  return operands.input().shape.size() > kFirstMostRank ? 4 : version_by_type<>(operands);
}

ByteTable byte_table(const KernelSource& source) {
  const OperatorDefinition& of = definition(source.op.code);
  if (of.byte_table == nullptr) {
    throw FormatError(fmt::format("{} is no function of one byte", of.name));
  }
  return of.byte_table(source);
}

}  // namespace detail
}  // namespace octet
