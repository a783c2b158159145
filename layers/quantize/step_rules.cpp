#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/activation_function.h>
#include <octet/layers/quantize/quantize_config.h>
#include <octet/layers/quantize/step_rules.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <cstddef>
#include <set>

namespace octet {

ResultRule rule_of(const Step& step, Rounding rounding) {
  switch (step.kind) {
    case Step::Kind::linear:
    case Step::Kind::parameter:
    case Step::Kind::quantize:
    case Step::Kind::requantize:
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

namespace {

bool moves(const Step& step) {
  return step.kind == Step::Kind::op &&
         (step.code == OpCode::concatenation || step.code == OpCode::reshape ||
          step.code == OpCode::strided_slice || step.code == OpCode::transpose);
}

}  // namespace

bool moves_alone(const Layer& layer) { return std::ranges::all_of(program_of(layer).steps, moves); }

bool reads_indices(const Layer& layer) {
  const Program program = program_of(layer);
  // The input of the layer is its first value.
  std::set<std::size_t> moved{0};
  for (const Step& step : program.steps) {
    if (moves(step) && moved.contains(step.inputs[0])) moved.insert(step.result);
    const bool looks_up = step.kind == Step::Kind::op && step.code == OpCode::gather;
    if (looks_up && moved.contains(step.inputs[1])) return true;
  }
  return false;
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

namespace {

/// Whether an exported model computes a step that reads values of the forms `read` on integers.
bool is_on_integers(const Step& step, std::span<const ValueForm> read) {
  const StepScheme& scheme = *step.scheme;
  const ResultRule rule = rule_of(step, scheme.options->rounding);
  switch (step.kind) {
    case Step::Kind::linear:  // Integers need a scale at both ends.
      return scheme.kernel != nullptr && scheme.result != nullptr;
    case Step::Kind::quantize:
    case Step::Kind::requantize:
      return read[0].is_integer;
    case Step::Kind::function:
    case Step::Kind::parameter:
      return false;
    case Step::Kind::op:
      break;
  }
  // The table decides: indices are no integers with a scale.
  if (step.code == OpCode::gather) return read[0].is_integer;
  // Its inputs are quantized for it where they have other scales.
  if (scheme.result == nullptr && rule == ResultRule::as_inputs) return true;
  if (!std::ranges::all_of(read, &ValueForm::is_integer)) return false;
  if (scheme.result != nullptr) return rule == ResultRule::measured;
  const bool takes = !read[0].is_int16 || definition(step.code).takes_int16;
  return passes_on(step) || (rule == ResultRule::fixed && takes);
}

ValueForm form_of_result(const Step& step, std::span<const ValueForm> read) {
  const StepScheme* const scheme = step.scheme.get();
  if (passes_on(step)) {
    ValueForm form = read[0];
    const auto differs = [&](const ValueForm& other) { return other.fixed_by != form.fixed_by; };
    if (std::ranges::any_of(read, differs)) form.fixed_by.reset();
    form.training_range = std::ranges::max(read, {}, &ValueForm::training_range).training_range;
    if (step.kind == Step::Kind::function) form.training_range *= step.function.training_range;
    return form;
  }
  if (scheme == nullptr) return {};
  if (scheme->result != nullptr) {
    return {.is_integer = true,
            .is_int16 = scheme->result->spec().num_bits > 8,
            .quantizer = scheme->result};
  }
  const bool is_integer = scheme->on_integers;
  ValueForm form{.is_integer = is_integer, .is_int16 = is_integer && read[0].is_int16};
  if (rule_of(step, scheme->options->rounding) == ResultRule::fixed) form.fixed_by = step.code;
  return form;
}

}  // namespace

void decide_forms(Program& program, std::span<const ValueForm> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) program.values[i].form = inputs[i];
  for (const Step& step : program.steps) {
    std::vector<ValueForm> read;
    for (const std::size_t input : step.inputs) read.push_back(program.values[input].form);
    if (step.scheme != nullptr) step.scheme->on_integers = is_on_integers(step, read);
    program.values[step.result].form = form_of_result(step, read);
  }
}

}  // namespace octet
