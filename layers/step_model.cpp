#include <fmt/core.h>
#include <octet/core/archive.h>
#include <octet/core/error.h>
#include <octet/core/quant/activation_range.h>
#include <octet/layers/concatenate.h>
#include <octet/layers/input.h>
#include <octet/layers/layer_registry.h>
#include <octet/layers/lower.h>
#include <octet/layers/lstm.h>
#include <octet/layers/program/program.h>
#include <octet/layers/program/streams.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/quantize/quantizers.h>
#include <octet/layers/quantize/step_rules.h>
#include <octet/layers/reshape.h>
#include <octet/layers/slice.h>
#include <octet/layers/step_model.h>
#include <octet/runtime/joined_reshapes.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

namespace octet {
namespace {

/// What describe_layer() wrote of a convolution or a pool, wrapped or not, with padding valid.
Description without_padding(Description description) {
  if (description.has("padding")) return description.set("padding", to_string(Padding::valid));
  return description.set("layer", without_padding(description.part("layer")));
}

/// What describe_layer() wrote of a fused LSTM, wrapped, as that of one which is given the states
/// that it gave.
Description with_carried_states(Description wrapper) {
  return wrapper.set("layer", wrapper.part("layer").set(LSTM::kCarriesStates, true));
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

/// Makes the model of a piece of the sequences, layer by layer.
class StepModelBuilder {
 public:
  StepModelBuilder(const Model& source, const StepModelOptions& options)
      : source_(source), streams_(streams_of(source, options.delay)), step_(source.name()) {
    for (const Stream& stream : streams_) {
      if (stream.rate > 0) steps_ = std::lcm(steps_, stream.rate);
    }
  }

  StepModel run() {
    for (std::size_t i = 0; i < source_.layers().size(); ++i) values_.push_back(copy_of(i));
    add_outputs();
    restore();
    return {std::move(step_), std::move(carried_), steps_, delays()};
  }

 private:
  struct State {
    std::string input;
    /// What is the state in front of the next piece.
    Value next;
    /// The name of the layer that `next` is the result of.
    std::string output;
  };

  /// The name of a QuantizeLayer, and the value of the source's program whose scale it has; none
  /// for one of its own.
  struct Quantized {
    std::string name;
    std::optional<std::size_t> of;
  };

  /// Steps of a sequence in one piece.
  Index steps_of(const Stream& stream) const { return steps_ / stream.rate; }

  Value copy_of(std::size_t i) {
    const Layer& layer = *source_.layers()[i];
    if (source_.used_layer(i) != i) {
      fail_to_stream(layer, "is used several times; give each use its own");
    }
    const Stream& stream = streams_[i];
    const std::vector<std::size_t>& read = source_.inputs_of(i);
    if (read.empty() && stream.kind == Stream::Kind::each_step) {
      return step_.add_built(std::make_unique<InputLayer>(
                                 layer.output_shape().with_dim(0, steps_of(stream)), layer.name()),
                             {});
    }
    std::vector<Value> inputs;
    inputs.reserve(read.size() + 1);
    for (const std::size_t input : read) inputs.push_back(values_[input]);
    Description description = describe_layer(layer);
    switch (stream.kind) {
      case Stream::Kind::outside:
      case Stream::Kind::each_step:
        break;
      case Stream::Kind::recurrent:
        return recurrent(i, inputs[0]);
      case Stream::Kind::window:
        inputs = {joined(i, inputs[0], stream.kept)};
        description = without_padding(std::move(description));
        break;
      case Stream::Kind::whole: {
        const Index kept = layer.input_shape()[0] - steps_of(streams_[read[0]]);
        if (kept < 0) {
          fail_to_stream(layer, fmt::format("reads {} steps of time, fewer than the model takes at "
                                            "once",
                                            layer.input_shape()[0]));
        }
        inputs = {joined(i, inputs[0], kept)};
        break;
      }
    }
    return step_.add_built(make_layer(description), inputs);
  }

  /// A fused LSTM, whose states are those of its operator.
  Value fused(std::size_t i, const Value& x) {
    const Layer& layer = *source_.layers()[i];
    const bool gives_all = layer.output_shape().rank() == 2;
    if (gives_all && steps_of(streams_[i]) > 1) {
      fail_to_stream(layer, fmt::format("takes {} steps at once; leave LSTMOptions::fused out",
                                        steps_of(streams_[i])));
    }
    const Shape shape{layer.output_shape().dim(-1)};
    const std::string name = inner_of(layer).name();
    const Value hidden = state_input(i, name + "_state", shape, result_of(i));
    const Value given = step_.add_built(std::make_unique<InputLayer>(shape, name + "_cell"), {});
    constexpr float kMost = 32767 * kLstmCellScale;
    const QuantSpec int16{.num_bits = 16, .symmetric = true};
    auto quantizer = std::make_unique<FixedQuantizer>(-kMost, kMost, int16);
    quantized_.push_back({name + "_cell_quantize", std::nullopt});
    const Value cell =
        step_.add_built(std::make_unique<QuantizeLayer>(std::move(quantizer), options_of(i),
                                                        quantized_.back().name),
                        {given});
    Value result =
        step_.add_built(make_layer(with_carried_states(describe_layer(layer))), {x, hidden, cell});
    // lower() has the operator's own result in its place.
    const Value next = add(i, std::make_unique<Reshape>(shape, name + "_state_next"), {result});
    states_.push_back({name + "_state", next, step_.layers().back()->name()});
    add_cell(name, result);
    return result;
  }

  /// The cell state behind an LSTM's last step, as its state.
  void add_cell(const std::string& name, const Value& result) {
    const std::string next = name + "_cell_next";
    states_.push_back(
        {name + "_cell", step_.add_built(std::make_unique<CellState>(next), {result}), next});
  }

  /// A recurrent layer that begins with the states that it gave at the piece before.
  Value recurrent(std::size_t i, const Value& x) {
    const Layer& layer = *source_.layers()[i];
    if (recurrent_of(layer)->is_one_operator()) return fused(i, x);
    const bool gives_all = layer.output_shape().rank() == 2;
    const Shape shape = gives_all ? layer.output_shape().with_dim(0, 1) : layer.output_shape();
    const std::string name = inner_of(layer).name();
    std::vector<Value> inputs = {x, state_input(i, name + "_state", shape, result_of(i))};
    const std::vector<std::size_t>& beside = source_.program().values[result_of(i)].beside;
    for (const std::size_t state : beside) {
      inputs.push_back(state_input(i, name + "_cell", {shape.dim(-1)}, state));
    }
    Value result = step_.add_built(make_layer(describe_layer(layer)), inputs);
    const Index count = gives_all ? steps_of(streams_[i]) : 1;
    if (count == 1) {
      states_.push_back({name + "_state", result, layer.name()});
    } else {
      add_state(i, result, count - 1, 1);
    }
    if (!beside.empty()) add_cell(name, result);
    return result;
  }

  /// The steps that layer `i` keeps of what it has read, in front of x, which it reads now.
  Value joined(std::size_t i, Value x, Index kept) {
    if (kept == 0) return x;
    const std::size_t read = source_.inputs_of(i)[0];
    const std::string name = inner_of(*source_.layers()[i]).name();
    const Value before =
        state_input(i, name + "_state", source_.layers()[read]->output_shape().with_dim(0, kept),
                    result_of(read));
    // What operators as TANH give is tied to no quantizer.
    if (reads_integers(i) && form_of(result_of(read)).fixed_by) {
      x = quantized(i, x, name + "_quantize", result_of(read));
    }
    Value window = add(i, std::make_unique<Concatenate>(0, name + "_window"), {before, x});
    const Index count = step_.layers().back()->output_shape()[0];
    add_state(i, window, count - kept, kept);
    return window;
  }

  /// Steps [begin, begin + count) of a sequence, as the state of layer `i`.
  void add_state(std::size_t i, const Value& sequence, Index begin, Index count) {
    const std::string name = inner_of(*source_.layers()[i]).name();
    const Value next = add(i,
                           std::make_unique<Slice>(SliceOptions{
                               .axis = 0, .begin = begin, .size = count, .name = name + "_next"}),
                           {sequence});
    states_.push_back({name + "_state", next, step_.layers().back()->name()});
  }

  /// The input of a state of layer `i`: behind a QuantizeLayer with the scale of the value `of`
  /// where the layer is quantized.
  Value state_input(std::size_t i, const std::string& name, const Shape& shape, std::size_t of) {
    const Value value = step_.add_built(std::make_unique<InputLayer>(shape, name), {});
    return reads_integers(i) ? quantized(i, value, name + "_quantize", of) : value;
  }

  /// x with the scale and zero point of a value of the source.
  Value quantized(std::size_t i, const Value& x, const std::string& name, std::size_t of) {
    const QuantizeOptions& options = options_of(i);
    const Quantizer* const measured = form_of(of).quantizer;
    auto quantizer = measured != nullptr ? measured->clone() : fixed_quantizer(of, options);
    quantized_.push_back({name, of});
    return step_.add_built(std::make_unique<QuantizeLayer>(std::move(quantizer), options, name),
                           {x});
  }

  /// Whether layer `i` is quantized, and what it reads is.
  bool reads_integers(std::size_t i) const {
    const std::size_t read = result_of(source_.inputs_of(i)[0]);
    return as_quantize_wrapper(*source_.layers()[i]) != nullptr && form_of(read).is_integer;
  }

  /// Adds a layer, quantized where layer `i` of the source reads integers.
  Value add(std::size_t i, std::unique_ptr<Layer> layer, const std::vector<Value>& inputs) {
    if (reads_integers(i)) {
      layer = std::make_unique<QuantizeWrapper>(std::move(layer), default_8bit(options_of(i)));
    }
    return step_.add_built(std::move(layer), inputs);
  }

  const QuantizeOptions& options_of(std::size_t i) const {
    return as_quantize_wrapper(*source_.layers()[i])->config().options();
  }

  const ValueForm& form_of(std::size_t value) const { return source_.program().values[value].form; }

  std::size_t result_of(std::size_t layer) const {
    return source_.program().result_of_layer[layer];
  }

  std::unique_ptr<Quantizer> fixed_quantizer(std::size_t of, const QuantizeOptions& options) const {
    const ValueForm& form = form_of(of);
    const DType type = form.is_int16 ? DType::int16 : DType::int8;
    const RealLimits limits = real_limits(definition(form.fixed_by.value()).fixed_grid_of(type));
    return std::make_unique<FixedQuantizer>(limits.lo, limits.hi, activation_spec(options));
  }

  void add_outputs() {
    std::vector<std::string> outputs;
    for (const std::size_t output : source_.output_layers()) {
      step_.output(values_[output]);
      outputs.push_back(source_.layers()[output]->name());
    }
    const std::vector<std::size_t> inputs = step_.input_layers();
    for (const State& state : states_) {
      const auto input = std::ranges::find_if(
          inputs, [&](std::size_t layer) { return step_.layers()[layer]->name() == state.input; });
      const auto found = std::ranges::find(outputs, state.output);
      carried_.push_back({static_cast<std::size_t>(input - inputs.begin()),
                          static_cast<std::size_t>(found - outputs.begin())});
      if (found != outputs.end()) continue;
      outputs.push_back(state.output);
      step_.output(state.next);
    }
  }

  std::vector<Index> delays() const {
    std::vector<Index> delays;
    for (const std::size_t output : source_.output_layers()) {
      const Stream& stream = streams_[output];
      const Index calls = (stream.end + steps_ - 1) / steps_;
      delays.push_back(stream.rate > 0 ? stream.delay : std::max<Index>(calls - 1, 0));
    }
    return delays;
  }

  void restore() {
    std::set<std::string> wanted;
    for (const NamedTensor& saved : step_.saved_tensors()) wanted.insert(saved.name);
    Archive tensors;
    for (const auto& [name, tensor] : source_.saved_tensors()) {
      // The zeros in front of the first step have a quantizer that one step has not.
      if (wanted.contains(name)) tensors.add(name, tensor);
    }
    for (const Quantized& state : quantized_) {
      const Quantizer* const measured = state.of ? form_of(*state.of).quantizer : nullptr;
      if (measured != nullptr) {
        add_range(tensors, state.name, *measured);
        continue;
      }
      for (const auto& [name, tensor] : step_.saved_tensors()) {
        if (name.starts_with(state.name + "/")) tensors.add(name, tensor);
      }
    }
    step_.restore(tensors);
    static_cast<void>(step_.program());
  }

  const Model& source_;
  std::vector<Stream> streams_;
  /// Steps of time in one piece.
  Index steps_ = 1;
  Model step_;
  std::vector<Value> values_;
  std::vector<State> states_;
  std::vector<Quantized> quantized_;
  std::vector<CarriedState> carried_;
};

}  // namespace

StepModel step_model(const Model& model, const StepModelOptions& options) {
  model.require_built("step_model");
  StepModel made = StepModelBuilder(model, options).run();
  if (!made.states.empty()) return made;
  throw InvalidArgument(
      fmt::format("step_model: expected a layer that carries a state from step to step, as GRU or "
                  "a convolution does, found none in model \"{}\"",
                  model.name()));
}

namespace {

/// Carries on what operators with states of their own give as such, not what is made of their
/// results.
void carry_states_of_operators(IntegerModel& model, std::span<const CarriedState> states) {
  for (const Operator& op : model.operators) {
    const auto kept = definition(op.code).file_states;
    for (std::size_t k = 0; k < kept.size(); ++k) {
      for (const CarriedState& state : states) {
        if (model.inputs[state.input] == op.inputs[kept[k]]) {
          model.outputs[state.output] = op.outputs[k + 1];
        }
      }
    }
  }
  // What only reshaped them.
  join_reshapes(model);
}

}  // namespace

IntegerModel lower(const StepModel& model, const LowerOptions& options) {
  IntegerModel lowered = lower(model.model, options);
  carry_states_of_operators(lowered, model.states);
  keep_states(lowered, {model.states, model.delays.size()});
  return lowered;
}

}  // namespace octet
