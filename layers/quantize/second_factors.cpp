#include <octet/layers/quantize/second_factors.h>
#include <octet/layers/quantize/step_rules.h>

#include <set>

namespace octet {

std::vector<bool> second_factors(const Program& program, Rounding rounding, bool result_is_read) {
  std::vector<bool> found(program.values.size());
  if (!program.steps.empty()) found[program.steps.back().result] = result_is_read;
  for (auto step = program.steps.rbegin(); step != program.steps.rend(); ++step) {
    if (step->kind == Step::Kind::op && step->code == OpCode::batch_matmul) {
      found[step->inputs[1]] = true;
    }
    if (!found[step->result]) continue;
    const ResultRule rule = rule_of(*step, rounding);
    if (rule == ResultRule::as_inputs) {
      for (const std::size_t input : step->inputs) found[input] = true;
    } else if (rule == ResultRule::as_input || rule == ResultRule::clamps) {
      found[step->inputs[0]] = true;
    }
  }
  // Steps that share a range have one quantizer.
  std::set<std::size_t> shared;
  for (const Step& step : program.steps) {
    if (found[step.result] && step.range_key) shared.insert(*step.range_key);
  }
  for (const Step& step : program.steps) {
    if (step.range_key && shared.contains(*step.range_key)) found[step.result] = true;
  }
  return found;
}

}  // namespace octet
