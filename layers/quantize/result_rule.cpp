#include <octet/layers/program/program.h>
#include <octet/layers/quantize/result_rule.h>
#include <octet/layers/quantize/step_rules.h>

namespace octet {

ResultRule result_rule(const Layer& layer, Rounding rounding) {
  if (layer.weights()) return ResultRule::measured;
  const Program program = program_of(layer);
  ResultRule found = ResultRule::as_input;
  for (const Step& step : program.steps) {
    if (step.kind == Step::Kind::parameter || step.output != 0) continue;
    const ResultRule rule = rule_of(step, rounding);
    if (rule == ResultRule::unknown) return rule;
    if (rule != ResultRule::as_input) found = rule;
  }
  return found;
}

}  // namespace octet
