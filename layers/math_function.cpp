#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/graph.h>
#include <octet/layers/math_function.h>

#include <algorithm>
#include <array>

namespace octet {
namespace {

struct Form {
  UnaryFunction function;
  std::string_view name;
  OpCode code;
};

constexpr std::array<Form, 3> kForms = {{{UnaryFunction::exp, "exp", OpCode::exp},
                                         {UnaryFunction::log, "log", OpCode::log},
                                         {UnaryFunction::sqrt, "sqrt", OpCode::sqrt}}};

const Form& form_of(UnaryFunction function) {
  const auto* const found = std::ranges::find(kForms, function, &Form::function);
  if (found != kForms.end()) return *found;
  throw InvalidArgument("MathFunction: a value outside the enumeration");
}

}  // namespace

std::vector<GraphValue> MathFunction::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  return {graph.op(form_of(function_).code, {inputs[0]})};
}

void MathFunction::describe(Description& description) const {
  description.set("function", form_of(function_).name);
}

std::unique_ptr<Layer> MathFunction::make(const Description& d) {
  const std::string name = d.text("function");
  const auto* const found = std::ranges::find(kForms, name, &Form::name);
  if (found != kForms.end()) return std::make_unique<MathFunction>(found->function);
  throw FormatError(
      fmt::format("MathFunction: expected the function exp, log or sqrt, found \"{}\"", name));
}

}  // namespace octet
