#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/quantize/program_passes.h>
#include <octet/layers/quantize/quantize_config.h>
#include <octet/layers/quantize/quantizer.h>
#include <octet/layers/quantize/shared_range.h>
#include <octet/layers/quantize/step_rules.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

namespace octet {
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
  // A cell state is int16 whatever its operator reads.
  const bool is_wide = read[0].is_int16 || step.output != 0;
  ValueForm form{.is_integer = is_integer, .is_int16 = is_integer && is_wide};
  if (rule_of(step, scheme->options->rounding) == ResultRule::fixed) form.fixed_by = step.code;
  return form;
}

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

void decide_forms(Program& program, std::span<const ValueForm> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) program.values[i].form = inputs[i];
  for (const Step& step : program.steps) {
    std::vector<ValueForm> read;
    for (const std::size_t input : step.inputs) read.push_back(program.values[input].form);
    if (step.scheme != nullptr) step.scheme->on_integers = is_on_integers(step, read);
    program.values[step.result].form = form_of_result(step, read);
  }
}

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

void find_radicands(Program& program) {
  std::vector<bool> found(program.values.size());
  for (auto step = program.steps.rbegin(); step != program.steps.rend(); ++step) {
    const bool is_root =
        step->kind == Step::Kind::op && (step->code == OpCode::sqrt || step->code == OpCode::rsqrt);
    if (is_root) found[step->inputs[0]] = true;
    if (!found[step->result] || step->scheme == nullptr) continue;
    step->scheme->is_radicand = true;
    if (!passes_on(*step)) continue;
    for (const std::size_t input : step->inputs) found[input] = true;
  }
}

void prepare_quantized(Program& program, std::span<const ValueForm> inputs) {
  decide_forms(program, inputs);
  find_radicands(program);
  share_ranges(program);
  tie_joined_inputs(program);
  requantize_joined_inputs(program);
}

}  // namespace octet
