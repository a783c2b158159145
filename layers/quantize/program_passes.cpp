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

/// Whether the inputs of a step share a scale that their quantizers give, not their operators.
bool joins_measured(const Program& program, const Step& step) {
  return step.scheme != nullptr && step.scheme->result == nullptr &&
         rule_of(step, step.scheme->options->rounding) == ResultRule::as_inputs &&
         !program.values[step.result].form.fixed_by;
}

void tie_inputs(const Program& program, const Step& step) {
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
  if (producers.front() == nullptr) {
    throw InvalidArgument(fmt::format(
        "{}: expected inputs that can share one scale, found a first one that is not quantized",
        step.scheme->owner));
  }
  // Where one is left in float there is nothing to tie.
  const bool ties = producers.size() > 1 && std::ranges::count(producers, nullptr) == 0;
  if (ties) Quantizer::tie(producers);
}

/// Appends a step of kind requantize for each value that `join` reads, which then reads its result.
void append_requantize(Program& program, Step& join, std::vector<Step>& steps) {
  const auto range_of = [&](std::size_t v) { return program.values[v].form.training_range; };
  const Quantizer* const common = program.values[join.inputs[0]].form.quantizer;
  const float widest = range_of(std::ranges::max(join.inputs, {}, range_of));
  std::map<std::size_t, std::size_t> made;
  for (std::size_t& input : join.inputs) {
    const auto [at, is_new] = made.try_emplace(input, program.values.size());
    if (is_new) {
      Program::Value value = program.values[input];
      value.suffix += "/codes";
      value.readers = 0;
      value.is_output = false;
      value.beside.clear();
      value.form = program.values[join.result].form;
      program.values.push_back(std::move(value));
      Step& step = steps.emplace_back();
      step.kind = Step::Kind::requantize;
      step.layer = join.layer;
      step.node = join.node;
      step.scheme = std::make_shared<StepScheme>(StepScheme{.owner = join.scheme->owner,
                                                            .options = join.scheme->options,
                                                            .common = common,
                                                            .range_of_input = range_of(input),
                                                            .widest_range = widest,
                                                            .on_integers = true});
      step.inputs = {input};
      step.result = at->second;
    } else {
      --program.values[input].readers;
    }
    input = at->second;
    ++program.values[input].readers;
  }
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
    if (joins_measured(program, step)) tie_inputs(program, step);
  }
}

void requantize_joined_inputs(Program& program) {
  std::vector<Step> steps;
  steps.reserve(program.steps.size());
  for (Step& step : program.steps) {
    if (joins_measured(program, step)) append_requantize(program, step, steps);
    steps.push_back(std::move(step));
  }
  program.steps = std::move(steps);
}

void prepare_quantized(Program& program, std::span<const ValueForm> inputs) {
  decide_forms(program, inputs);
  share_ranges(program);
  tie_joined_inputs(program);
  requantize_joined_inputs(program);
}

}  // namespace octet
