#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/layers/model.h>
#include <octet/layers/program/program.h>
#include <octet/layers/quantize/backward.h>
#include <octet/layers/quantize/quantize_config.h>

#include <string>
#include <string_view>
#include <vector>

namespace octet {
namespace {

/// Whether training computes the products of a linear step on int8, and their gradients can be.
bool has_int8_gradients(const Program& program, const Step& step) {
  const StepScheme* const scheme = step.scheme.get();
  return scheme != nullptr && scheme->kernel != nullptr && scheme->on_integers &&
         scheme->options->simulation == Simulation::integer &&
         !program.values[step.inputs[0]].form.is_int16 && has_int8_gradients(weights_of(step));
}

bool has_float_gradients(const Program& program, const Step& step) {
  switch (step.kind) {
    case Step::Kind::linear:
      return !has_int8_gradients(program, step);
    case Step::Kind::op:
      return step.code == OpCode::batch_matmul;
    case Step::Kind::function:
      return step.function.calls_layer && !step.layer->parameters().empty();
    case Step::Kind::quantize:
    case Step::Kind::requantize:
    case Step::Kind::parameter:
      return false;
  }
  throw InvalidArgument("gradients: a kind of step outside the enumeration");
}

}  // namespace

std::string_view to_string(Backward backward) {
  switch (backward) {
    case Backward::float32:
      return "float32";
    case Backward::int8:
      return "int8";
    case Backward::int8_stochastic:
      return "int8-stochastic";
  }
  throw InvalidArgument("Backward: a value outside the enumeration");
}

Backward parse_backward(std::string_view name) {
  for (const Backward backward : {Backward::float32, Backward::int8, Backward::int8_stochastic}) {
    if (name == to_string(backward)) return backward;
  }
  throw InvalidArgument(
      fmt::format("backward: expected float32, int8 or int8-stochastic, found '{}'", name));
}

std::vector<std::string> layers_with_float_gradients(const Model& model) {
  const Program& program = model.program();
  std::vector<std::string> names;
  for (const Step& step : program.steps) {
    const std::string& name = model.layers()[step.node]->name();
    const bool is_named = !names.empty() && names.back() == name;
    if (!is_named && has_float_gradients(program, step)) names.push_back(name);
  }
  return names;
}

}  // namespace octet
