#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/quantize/program_passes.h>
#include <octet/layers/quantize/quantize_config.h>
#include <octet/layers/quantize/quantizer.h>
#include <octet/layers/quantize/shared_range.h>
#include <octet/layers/quantize/step_rules.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

namespace octet {
namespace {

/// Ties the quantizers of what an operator joins whose inputs share scale and zero point.
void tie_inputs(const Program& program, const Step& step) {
  const bool joins = rule_of(step, step.scheme->options->rounding) == ResultRule::as_inputs;
  if (!joins || step.scheme->result != nullptr) return;
  step.scheme->joins_fixed = program.values[step.result].form.fixed_by.has_value();
  if (step.scheme->joins_fixed) return;
  std::vector<Quantizer*> producers;
  for (const std::size_t input : step.inputs) {
    const Program::Value& value = program.values[input];
    if (value.form.fixed_by) {
      throw InvalidArgument(
          fmt::format("{}: expected inputs that can share one scale, found \"{}\" with the fixed "
                      "scale of {}; put a QuantizeLayer between",
                      step.scheme->owner, value.name(), to_string(*value.form.fixed_by)));
    }
    // Steps of a scan, and uses of one layer, share theirs already.
    if (std::ranges::count(producers, value.form.quantizer) == 0) {
      producers.push_back(value.form.quantizer);
    }
  }
  step.scheme->joined = producers.front();
  // Where one is left in float there is nothing to tie.
  const bool ties = producers.size() > 1 && std::ranges::count(producers, nullptr) == 0;
  if (ties) Quantizer::tie(producers);
}

}  // namespace

void share_ranges(Program& program) {
  std::map<const Quantizer*, StepScheme*> first;
  for (const Step& step : program.steps) {
    StepScheme* const scheme = step.scheme.get();
    // The range of a tensor of the layer is that of its values now, the same at every use.
    const bool observes = scheme != nullptr && scheme->result != nullptr;
    if (!observes || step.kind == Step::Kind::parameter) continue;
    StepScheme* const before = first.try_emplace(scheme->result, scheme).first->second;
    if (before == scheme) continue;
    if (before->shared == nullptr) {
      before->shared = std::make_shared<SharedRange>();
      before->shared_position = before->shared->join();
    }
    scheme->shared = before->shared;
    scheme->shared_position = scheme->shared->join();
  }
}

void tie_joined_inputs(Program& program) {
  for (const Step& step : program.steps) {
    if (step.scheme != nullptr) tie_inputs(program, step);
  }
}

void prepare_quantized(Program& program, std::span<const ValueForm> inputs) {
  decide_forms(program, inputs);
  share_ranges(program);
  tie_joined_inputs(program);
}

}  // namespace octet
