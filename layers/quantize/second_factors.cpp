#include <octet/layers/quantize/second_factors.h>
#include <octet/layers/quantize/step_rules.h>

namespace octet {

std::vector<bool> second_factors(const Program& program, Rounding rounding) {
  std::vector<bool> found(program.values.size());
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
  return found;
}

}  // namespace octet
