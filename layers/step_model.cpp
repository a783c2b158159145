#include <fmt/core.h>
#include <octet/core/archive.h>
#include <octet/core/error.h>
#include <octet/core/quant/activation_range.h>
#include <octet/layers/batch_norm.h>
#include <octet/layers/input.h>
#include <octet/layers/layer_registry.h>
#include <octet/layers/program/program.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/quantize/quantizers.h>
#include <octet/layers/quantize/step_rules.h>
#include <octet/layers/recurrent.h>
#include <octet/layers/step_model.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

namespace octet {
namespace {

const Layer& inner_of(const Layer& layer) {
  const QuantizeWrapper* const wrapper = as_quantize_wrapper(layer);
  return wrapper == nullptr ? layer : wrapper->wrapped();
}

const Recurrent* recurrent_of(const Layer& layer) {
  return dynamic_cast<const Recurrent*>(&inner_of(layer));
}

bool carries_state(const Layer& layer) { return recurrent_of(layer) != nullptr; }

[[noreturn]] void fail(const Layer& layer, std::string_view why) {
  throw InvalidArgument(fmt::format("step_model: layer \"{}\" of type {} {}", layer.name(),
                                    inner_of(layer).type(), why));
}

/// Operators whose results at one step follow from that step of their inputs.
bool is_elementwise(OpCode code) {
  static const std::set<OpCode> all{OpCode::add,      OpCode::hard_swish,   OpCode::leaky_relu,
                                    OpCode::logistic, OpCode::mul,          OpCode::relu,
                                    OpCode::relu6,    OpCode::relu_n1_to_1, OpCode::sub,
                                    OpCode::softmax,  OpCode::tanh};
  return all.contains(code);
}

/// Whether a step of a layer that reads [steps, features] computes each step of time alone.
bool is_stepwise(const Program& program, const Step& step) {
  switch (step.kind) {
    case Step::Kind::quantize:
      return true;
    case Step::Kind::parameter:
      // One that is read at every step of time.
      return program.values[step.result].shape.rank() < 2;
    case Step::Kind::function:
      return step.function.only_trains;
    case Step::Kind::linear: {
      const LayerWeights weights = weights_of(step);
      return !weights.convolution || (weights.kernel.dim(0) == 1 && weights.kernel.dim(1) == 1 &&
                                      weights.convolution->stride == std::array<Index, 2>{1, 1});
    }
    case Step::Kind::op: {
      const Shape& result = program.values[step.result].shape;
      if (const auto* join = std::get_if<ConcatenationAttributes>(&step.attributes)) {
        return join->axis == -1 || join->axis == result.rank();
      }
      if (step.code == OpCode::reshape) {
        // Sequences as images of one row, and back.
        const Shape& read = program.values[step.inputs[0]].shape;
        return read.rank() > 0 && result.rank() > 0 && read.dim(-1) == result.dim(-1);
      }
      return is_elementwise(step.code);
    }
  }
  throw InvalidArgument("step_model: a kind of step outside the enumeration");
}

/// By layer: whether its result is a sequence, one step of which the step model computes.
std::vector<bool> sequences_of(const Model& model) {
  std::vector<bool> wanted(model.layers().size());
  for (std::size_t i = wanted.size(); i-- > 0;) {
    const Layer& layer = *model.layers()[i];
    const std::vector<std::size_t>& inputs = model.inputs_of(i);
    if (carries_state(layer)) {
      if (recurrent_of(layer)->state_count() > 1) {
        fail(layer,
             "carries more than one state, and gives the first alone; expected GRU or SimpleRNN");
      }
      if (inputs.size() > 1) fail(layer, "is given a first state, which step_model() is to carry");
      wanted[inputs[0]] = true;
    } else if (wanted[i]) {
      for (const std::size_t input : inputs) wanted[input] = true;
    }
  }
  std::vector<bool> sequences(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Layer& layer = *model.layers()[i];
    const std::vector<std::size_t>& inputs = model.inputs_of(i);
    const auto is_sequence = [&](std::size_t input) { return bool(sequences[input]); };
    if (inputs.empty()) {
      sequences[i] = wanted[i];
    } else if (carries_state(layer)) {
      sequences[i] = layer.output_shape().rank() == 2;
    } else if (std::ranges::any_of(inputs, is_sequence)) {
      const Program program = program_of(inner_of(layer));
      const bool is_norm = dynamic_cast<const BatchNorm*>(&inner_of(layer)) != nullptr;
      const bool fits = layer.output_shape().rank() == 2 &&
                        std::ranges::all_of(program.steps, [&](const Step& step) {
                          return is_norm || is_stepwise(program, step);
                        });
      if (!fits) {
        fail(layer,
             "looks at several steps of time; expected layers that compute each step alone, as "
             "Dense does, in front of and between recurrent ones");
      }
      sequences[i] = true;
    }
  }
  return sequences;
}

/// Adds what a quantizer keeps to an archive as that of QuantizeLayer `layer`: the range of all
/// that it is tied to, and a learned scale.
void add_range(Archive& archive, const std::string& layer, const Quantizer& quantizer) {
  const ObservedRange range = quantizer.common_range();
  for (const auto& kept : {quantizer.state(), quantizer.parameters(), quantizer.counters()}) {
    for (const auto& [name, tensor] : kept) {
      const std::string own = name.substr(quantizer.prefix().size());
      archive.add(fmt::format("{}/{}", layer, own), own == "min"   ? range.min
                                                    : own == "max" ? range.max
                                                                   : tensor);
    }
  }
}

/// Makes the model of one step, layer by layer.
class StepModelBuilder {
 public:
  explicit StepModelBuilder(const Model& source)
      : source_(source), sequences_(sequences_of(source)), step_(source.name()) {}

  StepModel run() {
    for (std::size_t i = 0; i < source_.layers().size(); ++i) values_.push_back(copy_of(i));
    add_outputs();
    restore();
    return {std::move(step_), std::move(carried_)};
  }

 private:
  struct State {
    std::size_t layer;
    std::string input;
    std::string quantizer;
  };

  Value copy_of(std::size_t i) {
    const Layer& layer = *source_.layers()[i];
    if (source_.used_layer(i) != i) fail(layer, "is used several times; give each use its own");
    const std::vector<std::size_t>& read = source_.inputs_of(i);
    if (read.empty() && sequences_[i]) {
      const std::span<const Index> dims = layer.output_shape().dims();
      std::vector<Index> shape(dims.begin(), dims.end());
      shape.front() = 1;
      return step_.add_built(std::make_unique<InputLayer>(Shape(std::move(shape)), layer.name()),
                             {});
    }
    std::vector<Value> inputs;
    inputs.reserve(read.size() + 1);
    for (const std::size_t input : read) inputs.push_back(values_[input]);
    if (carries_state(layer)) inputs.push_back(state_of(i));
    return step_.add_built(make_layer(describe_layer(layer)), inputs);
  }

  /// The input of the state of layer `i`: behind a QuantizeLayer where the layer is quantized.
  Value state_of(std::size_t i) {
    const Layer& layer = *source_.layers()[i];
    const Index units = layer.output_shape().dim(-1);
    const Shape shape = layer.output_shape().rank() == 2 ? Shape{1, units} : Shape{units};
    State state{i, inner_of(layer).name() + "_state", ""};
    Value value = step_.add_built(std::make_unique<InputLayer>(shape, state.input), {});
    states_.push_back(state);
    if (!layer.is_quantized()) return value;
    states_.back().quantizer = state.input + "_quantize";
    const QuantizeOptions& options = as_quantize_wrapper(layer)->config().options();
    const Quantizer* const measured = quantizer_of_state(i);
    auto quantizer = measured != nullptr ? measured->clone() : fixed_quantizer(i, options);
    return step_.add_built(
        std::make_unique<QuantizeLayer>(std::move(quantizer), options, states_.back().quantizer),
        {value});
  }

  const ValueForm& form_of_state(std::size_t i) const {
    const Program& program = source_.program();
    return program.values[program.result_of_layer[i]].form;
  }

  /// Null where an operator gives the state its scale.
  const Quantizer* quantizer_of_state(std::size_t i) const { return form_of_state(i).quantizer; }

  std::unique_ptr<Quantizer> fixed_quantizer(std::size_t i, const QuantizeOptions& options) const {
    const OpCode code = form_of_state(i).fixed_by.value();
    const RealLimits limits = real_limits(definition(code).fixed_grid());
    return std::make_unique<FixedQuantizer>(limits.lo, limits.hi, activation_spec(options));
  }

  void add_outputs() {
    std::vector<std::size_t> outputs = source_.output_layers();
    for (const std::size_t output : outputs) step_.output(values_[output]);
    for (const State& state : states_) {
      const std::vector<std::size_t> inputs = step_.input_layers();
      const auto input = std::ranges::find_if(
          inputs, [&](std::size_t layer) { return step_.layers()[layer]->name() == state.input; });
      const auto found = std::ranges::find(outputs, state.layer);
      carried_.push_back({static_cast<std::size_t>(input - inputs.begin()),
                          static_cast<std::size_t>(found - outputs.begin())});
      if (found != outputs.end()) continue;
      outputs.push_back(state.layer);
      step_.output(values_[state.layer]);
    }
  }

  void restore() {
    std::set<std::string> wanted;
    for (const NamedTensor& saved : step_.saved_tensors()) wanted.insert(saved.name);
    Archive tensors;
    for (const auto& [name, tensor] : source_.saved_tensors()) {
      // The zeros in front of the first step have a quantizer that one step has not.
      if (wanted.contains(name)) tensors.add(name, tensor);
    }
    for (const State& state : states_) {
      if (state.quantizer.empty()) continue;
      if (const Quantizer* measured = quantizer_of_state(state.layer); measured != nullptr) {
        add_range(tensors, state.quantizer, *measured);
        continue;
      }
      for (const auto& [name, tensor] : step_.saved_tensors()) {
        if (name.starts_with(state.quantizer + "/")) tensors.add(name, tensor);
      }
    }
    step_.restore(tensors);
    static_cast<void>(step_.program());
  }

  const Model& source_;
  std::vector<bool> sequences_;
  Model step_;
  std::vector<Value> values_;
  std::vector<State> states_;
  std::vector<CarriedState> carried_;
};

}  // namespace

StepModel step_model(const Model& model) {
  model.require_built("step_model");
  if (std::ranges::none_of(model.layers(),
                           [](const auto& layer) { return carries_state(*layer); })) {
    throw InvalidArgument(
        fmt::format("step_model: expected a layer that carries a state from step to step, as GRU "
                    "does, found none in model \"{}\"",
                    model.name()));
  }
  return StepModelBuilder(model).run();
}

}  // namespace octet
