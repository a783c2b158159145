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
  if (step.output != 0) return ResultRule::fixed;
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

void require_operator_range(const QuantParams& grid, bool clamps_at_zero,
                            const std::string& owner) {
  const bool is_int16 =
      grid.qmin == -32768 && grid.qmax == 32767 && !grid.per_channel() && grid.zero_point() == 0;
  if (is_int16) return;
  const bool ends_as_int8 = grid.qmin >= -128 && grid.qmax == 127;
  if (ends_as_int8 && (grid.qmin == -128 || clamps_at_zero)) return;
  throw InvalidArgument(fmt::format(
      "{}: expected a result of the int8 values -128 to 127, found {} to {}, which no operator "
      "clamps "
      "to. Give the quantizer of the result 8 bits, signed, not narrow, or, behind a ReLU or "
      "ReLU6, "
      "fewer bits with QuantSpec::top_of_int8; or 16 bits, signed, symmetric, not narrow, under "
      "rounding q15; or leave the layer in_float(). Trained with "
      "Simulation::fake_quant and not exported, a model may have any values",
      owner, grid.qmin, grid.qmax));
}

}  // namespace octet
