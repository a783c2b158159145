#include <octet/core/profile.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/activation_function.h>
#include <octet/layers/program/float_step.h>
#include <octet/layers/program/program_run.h>
#include <octet/layers/quantize/integer_linear.h>
#include <octet/layers/quantize/integer_ops.h>
#include <octet/layers/quantize/program_passes.h>
#include <octet/layers/quantize/quantize_config.h>
#include <octet/layers/quantize/quantized_step.h>

#include <algorithm>

namespace octet {
namespace {

/// Whether a step gives quantized values, or would on integers.
bool is_quantized(const Step& step, const Tensor& result) {
  if (step.scheme == nullptr) return false;
  return step.scheme->options->simulation == Simulation::fake_quant ||
         result.quantization() != nullptr;
}

/// The random numbers of a step.
Random random_of(const Step& step, const Random& of_layer) {
  return step.stream == 0 ? of_layer : of_layer.fork(step.stream);
}

/// A step by itself: in floats, or as its scheme says.
Tensor carried_out(const Step& step, const StepInputs& in) {
  Tensor y = step.scheme == nullptr ? run_in_floats(step, in) : run_quantized(step, in);
  if (step.kind == Step::Kind::op && step.code == OpCode::logistic) {
    keep_logits(Activation::sigmoid, y, in.x[0], in.context);
  }
  return y;
}

}  // namespace

ProgramRun::ProgramRun(const Program& program, const Model& model, std::span<const Tensor> inputs,
                       const ForwardContext& context)
    : program_(program),
      model_(model),
      inputs_(inputs),
      context_(context),
      values_(program.values.size()) {
  for (const Program::Value& value : program.values) waiting_.push_back(value.readers);
}

const Tensor& ProgramRun::input_of(std::size_t i) const {
  const std::vector<std::size_t>& read = model_.inputs_of(i);
  return read.empty() ? inputs_[next_input_] : values_[program_.result_of_layer[read.front()]];
}

void ProgramRun::run_layer(std::size_t i, std::vector<Tensor>* seen) {
  const ProfileScope scope("forward", model_.layers()[i]->name());
  const std::size_t result = program_.result_of_layer[i];
  if (model_.inputs_of(i).empty()) {
    values_[result] = model_.layers()[i]->forward(inputs_[next_input_++], context_);
  }
  for (; next_step_ < program_.steps.size() && program_.steps[next_step_].node == i; ++next_step_) {
    run_step(program_.steps[next_step_], seen);
  }
  // What a layer passes on has no step.
  if (seen != nullptr && seen->empty()) seen->push_back(values_[result]);
}

std::vector<Tensor> ProgramRun::outputs() const {
  std::vector<Tensor> results;
  for (const std::size_t output : program_.outputs) results.push_back(values_[output]);
  return results;
}

/// Computes the weights of a step that a scan repeats once for all of its times; null for others.
const ProgramRun::SharedWeights* ProgramRun::weights_for(const Step& step) {
  if (step.kind != Step::Kind::linear || !step.weights || !step.range_key) return nullptr;
  const auto [at, is_new] = weights_.try_emplace({step.layer, step.weights_name});
  if (is_new) at->second = {weights_of(step), std::make_shared<IntegerWeights>()};
  return &at->second;
}

void ProgramRun::run_step(const Step& step, std::vector<Tensor>* seen) {
  std::vector<Tensor> x;
  x.reserve(step.inputs.size());
  for (const std::size_t input : step.inputs) x.push_back(values_[input]);
  // The tape keeps what it needs of values without readers.
  for (const std::size_t input : step.inputs) {
    if (--waiting_[input] == 0 && !program_.values[input].is_output) values_[input] = {};
  }
  const Program::Value& about = program_.values[step.result];
  // What another layer reads is no model's logits.
  const bool ends = about.is_output && about.readers == 0;
  ForwardContext own = context_;
  own.random = random_of(step, context_.random.fork(step.node));
  own.logits = context_.logits && ends;
  Tensor& result = values_[step.result];
  const SharedWeights* const shared = weights_for(step);
  result =
      carried_out(step, {x, about.shape, own, seen, shared == nullptr ? nullptr : &shared->weights,
                         shared == nullptr ? nullptr : shared->integers.get()});
  const bool ends_layer = program_.result_of_layer[step.node] == step.result;
  // lower() writes one tensor per such step; `seen` lists the same ones.
  const bool computes = step.kind != Step::Kind::parameter && step.kind != Step::Kind::requantize;
  if (seen != nullptr && computes && (ends_layer || is_quantized(step, result))) {
    seen->push_back(result);
  }
}

std::vector<Tensor> run(const Program& program, const Model& model, std::span<const Tensor> inputs,
                        const ForwardContext& context, const Model::Visit& visit) {
  ProgramRun run(program, model, inputs, context);
  for (std::size_t i = 0; i < model.layers().size(); ++i) {
    std::vector<Tensor> seen;
    run.run_layer(i, visit ? &seen : nullptr);
    if (visit) visit(i, seen);
  }
  return run.outputs();
}

Tensor run_alone(Program program, std::span<const Tensor> inputs, const ForwardContext& context) {
  std::vector<ValueForm> forms;
  for (const Tensor& x : inputs) {
    forms.push_back({.is_integer = x.quantization() != nullptr, .is_int16 = is_int16(x)});
  }
  prepare_quantized(program, forms);
  std::vector<Tensor> values(program.values.size());
  std::ranges::copy(inputs, values.begin());
  for (const Step& step : program.steps) {
    std::vector<Tensor> x;
    for (const std::size_t input : step.inputs) x.push_back(values[input]);
    ForwardContext own = context;
    own.random = random_of(step, context.random);
    own.logits = context.logits && step.result == program.outputs[0];
    values[step.result] = carried_out(step, {x, program.values[step.result].shape, own});
  }
  return values[program.outputs[0]];
}

}  // namespace octet
