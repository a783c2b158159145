#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/activation_function.h>
#include <octet/layers/quantize/quantize_config.h>
#include <octet/layers/quantize/step_rules.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>

namespace octet {

ResultRule rule_of(const Step& step, Rounding rounding) {
  switch (step.kind) {
    case Step::Kind::linear:
    case Step::Kind::parameter:
    case Step::Kind::quantize:
      return ResultRule::measured;
    case Step::Kind::function:
      return step.function.only_trains ? ResultRule::as_input : ResultRule::unknown;
    case Step::Kind::op:
      break;
  }
  if (only_clamps(step.code, rounding)) return ResultRule::clamps;
  switch (definition(step.code).output_grid) {
    case OutputGrid::measured:
      return ResultRule::measured;
    case OutputGrid::fixed:
      return ResultRule::fixed;
    case OutputGrid::same_as_input:
      return ResultRule::as_input;
    case OutputGrid::same_as_inputs:
      return ResultRule::as_inputs;
  }
  throw InvalidArgument("rule_of: an OutputGrid outside the enumeration");
}

bool passes_on(const Step& step) {
  if (step.scheme == nullptr) {
    return step.kind == Step::Kind::function && step.function.only_trains;
  }
  if (step.scheme->result != nullptr) return false;
  switch (rule_of(step, step.scheme->options->rounding)) {
    case ResultRule::as_input:
    case ResultRule::as_inputs:
    case ResultRule::clamps:
      return true;
    case ResultRule::fixed:
    case ResultRule::measured:
    case ResultRule::unknown:
      return false;
  }
  throw InvalidArgument("passes_on: a ResultRule outside the enumeration");
}

bool is_linear_alone(const Layer& layer) {
  std::size_t linear = 0;
  for (const Step& step : program_of(layer).steps) {
    const bool reshapes = step.kind == Step::Kind::op && step.code == OpCode::reshape;
    const bool is_function = step.kind == Step::Kind::op && quantizes_before(layer.activation()) &&
                             step.code == operator_of(layer.activation());
    if (step.kind == Step::Kind::linear) {
      ++linear;
    } else if (!reshapes && !is_function) {
      return false;
    }
  }
  return linear == 1;
}

bool only_clamps(OpCode code, Rounding rounding) {
  return code == OpCode::relu6 && rounding == Rounding::double_rounding;
}

bool measures_result(const Step& step, Rounding rounding) {
  return step.kind != Step::Kind::quantize && rule_of(step, rounding) == ResultRule::measured;
}

QuantParams result_params(OpCode code, std::span<const QuantParams> inputs,
                          const std::optional<QuantParams>& measured, const std::string& owner) {
  const OperatorDefinition& about = definition(code);
  switch (about.output_grid) {
    case OutputGrid::fixed:
      return about.fixed_grid_of(integer_type_of(inputs[0]));
    case OutputGrid::same_as_input:
    case OutputGrid::same_as_inputs:
      return inputs[0];
    case OutputGrid::measured:
      if (!measured) {
        throw InvalidArgument(
            fmt::format("{}: {} leaves its result unquantized", owner, about.name));
      }
      return about.fitting_grid == nullptr ? *measured : about.fitting_grid(inputs, *measured);
  }
  throw InvalidArgument(fmt::format("{}: an OutputGrid outside the enumeration", owner));
}

Quantizer* quantizer_of(const Program& program, std::size_t value) {
  const Step* step = program.producer(value);
  if (step == nullptr) return nullptr;
  if (passes_on(*step)) return quantizer_of(program, step->inputs[0]);
  return step->scheme == nullptr ? nullptr : step->scheme->result;
}

const Step* fixed_by(const Program& program, std::size_t value) {
  const Step* step = program.producer(value);
  if (step == nullptr) return nullptr;
  if (passes_on(*step)) {
    const Step* const first = fixed_by(program, step->inputs[0]);
    const auto differs = [&](std::size_t input) {
      const Step* const other = fixed_by(program, input);
      return first == nullptr || other == nullptr || other->code != first->code;
    };
    const bool joins = definition(step->code).output_grid == OutputGrid::same_as_inputs;
    return joins && std::ranges::any_of(step->inputs, differs) ? nullptr : first;
  }
  const bool is_fixed = step->scheme != nullptr && step->scheme->result == nullptr &&
                        rule_of(*step, step->scheme->options->rounding) == ResultRule::fixed;
  return is_fixed ? step : nullptr;
}

}  // namespace octet
