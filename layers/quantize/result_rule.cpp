#include <octet/core/error.h>
#include <octet/layers/program/program.h>
#include <octet/layers/quantize/result_rule.h>
#include <octet/layers/quantize/step_rules.h>
#include <octet/runtime/operators/definitions.h>

namespace octet {
namespace {

ResultRule rule_of(const Step& step, Rounding rounding) {
  switch (step.kind) {
    case Step::Kind::linear:
    case Step::Kind::quantize:
      return ResultRule::measured;
    case Step::Kind::function:
      return step.function.only_trains ? ResultRule::as_input : ResultRule::unknown;
    case Step::Kind::op:
      break;
  }
  if (step.code == OpCode::concatenation) return ResultRule::as_inputs;
  if (only_clamps(step.code, rounding)) return ResultRule::clamps;
  switch (definition(step.code).output_grid) {
    case OutputGrid::measured:
      return ResultRule::measured;
    case OutputGrid::fixed:
      return ResultRule::fixed;
    case OutputGrid::same_as_input:
      return ResultRule::as_input;
  }
  throw InvalidArgument("result_rule: an OutputGrid outside the enumeration");
}

}  // namespace

ResultRule result_rule(const Layer& layer, Rounding rounding) {
  if (layer.weights()) return ResultRule::measured;
  const Program program = program_of(layer);
  ResultRule found = ResultRule::as_input;
  for (const Step& step : program.steps) {
    const ResultRule rule = rule_of(step, rounding);
    if (rule == ResultRule::unknown) return rule;
    if (rule != ResultRule::as_input) found = rule;
  }
  return found;
}

}  // namespace octet
