#include <fmt/core.h>
#include <octet/core/arithmetic/real_functions.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/core/ops/ops.h>
#include <octet/core/quant/quant_params.h>
#include <octet/layers/graph.h>
#include <octet/layers/math_function.h>
#include <octet/layers/program/float_operators.h>

#include <algorithm>
#include <array>
#include <cmath>

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

Tensor float_forms::exp(const FloatCall& call) {
  return smooth("exp", Work::transcendental, call.x[0], detail::exponential, detail::exponential);
}

/// log(x). Quantized, 0 stands for values up to half a step, which has a logarithm: so a range can
/// be measured of results, the lowest of which LOG gives for 0.
Tensor float_forms::log(const FloatCall& call) {
  const Tensor& x = call.x[0];
  const Tensor read =
      x.quantization() == nullptr ? x : clamp(x, 0.5F * x.quantization()->scale(), kUnbounded);
  return smooth("log", Work::transcendental, read, detail::logarithm, detail::logarithm_slope);
}

/// sqrt(x). Throws InvalidArgument where quantized values are below 0: runtimes end a run there.
Tensor float_forms::sqrt(const FloatCall& call) {
  const Tensor& x = call.x[0];
  const auto is_negative = [](float v) { return v < 0.0F; };
  if (x.quantization() != nullptr && std::ranges::any_of(x.span(), is_negative)) {
    throw InvalidArgument(
        fmt::format("{}: expected a square root of values that are not below 0, found {}; put a "
                    "ReLU in front",
                    call.owner(), std::ranges::min(x.span())));
  }
  return smooth(
      "sqrt", Work::map_floats, x, [](float v) { return std::sqrt(v); }, detail::square_root_slope);
}

}  // namespace octet
