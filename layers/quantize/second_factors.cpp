#include <octet/layers/quantize/second_factors.h>
#include <octet/layers/quantize/step_rules.h>

#include <set>

namespace octet {

namespace {

/// Tells by value which ones are read by an operator of which `reads` says so, also behind
/// operators that keep scale and zero point.
std::vector<bool> values_read(const Program& program, Rounding rounding, bool result_is_read,
                              bool (*reads)(OpCode code, std::size_t input)) {
  std::vector<bool> found(program.values.size());
  if (!program.steps.empty()) found[program.steps.back().result] = result_is_read;
  for (auto step = program.steps.rbegin(); step != program.steps.rend(); ++step) {
    for (std::size_t i = 0; i < step->inputs.size() && step->kind == Step::Kind::op; ++i) {
      if (reads(step->code, i)) found[step->inputs[i]] = true;
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

}  // namespace

std::vector<bool> second_factors(const Program& program, Rounding rounding, bool result_is_read) {
  return values_read(program, rounding, result_is_read, [](OpCode code, std::size_t input) {
    return code == OpCode::batch_matmul && input == 1;
  });
}

std::vector<bool> radicands(const Program& program, Rounding rounding) {
  return values_read(program, rounding, false, [](OpCode code, std::size_t /*input*/) {
    return code == OpCode::sqrt || code == OpCode::rsqrt;
  });
}

}  // namespace octet
