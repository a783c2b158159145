#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/concatenate.h>
#include <octet/layers/input.h>
#include <octet/layers/layer_registry.h>
#include <octet/layers/lower.h>
#include <octet/layers/lstm.h>
#include <octet/layers/program/program.h>
#include <octet/layers/program/step_layers.h>
#include <octet/layers/program/streams.h>
#include <octet/layers/reshape.h>
#include <octet/layers/step_model.h>
#include <octet/runtime/joined_reshapes.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <numeric>
#include <optional>
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
    layers_.restore();
    return {std::move(step_), std::move(carried_), steps_, delays()};
  }

 private:
  /// Steps of a sequence in one piece.
  Index steps_of(const Stream& stream) const { return steps_ / stream.rate; }

  /// Steps in one piece of what layer `i` reads.
  Index steps_read(std::size_t i) const { return steps_of(streams_[source_.inputs_of(i)[0]]); }

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
        break;
      case Stream::Kind::each_step:
        for (std::size_t k = 0; k < read.size(); ++k) inputs[k] = waiting(i, k, inputs[k]);
        break;
      case Stream::Kind::recurrent:
        return recurrent(i, inputs[0]);
      case Stream::Kind::window:
        inputs = {joined(i, inputs[0], stream.kept)};
        description = without_padding(std::move(description));
        break;
      case Stream::Kind::whole: {
        const Index kept = layer.input_shape()[0] - steps_read(i);
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
    if ((gives_all && steps_of(streams_[i]) > 1) || streams_[i].zeroed > 0) {
      fail_to_stream(layer,
                     "keeps its states inside of one operator, which goes through one step in each "
                     "call, from the first of the sequence on, but takes several, or reads a "
                     "sequence that comes late; leave LSTMOptions::fused out");
    }
    const Shape shape{layer.output_shape().dim(-1)};
    const std::string name = layers_.name_of(i);
    const Value hidden = layers_.state_input(i, name + "_state", shape, layers_.result_of(i));
    const Value cell = layers_.cell_input(i, name + "_cell", shape);
    Value result =
        step_.add_built(make_layer(with_carried_states(describe_layer(layer))), {x, hidden, cell});
    // lower() has the operator's own result in its place.
    layers_.carry(name + "_state",
                  layers_.add(i, std::make_unique<Reshape>(shape, name + "_state_next"), {result}));
    layers_.carry(name + "_cell",
                  step_.add_built(std::make_unique<CellState>(name + "_cell_next"), {result}));
    return result;
  }

  /// A recurrent layer that begins with the states that it gave at the piece before.
  Value recurrent(std::size_t i, const Value& x) {
    const Layer& layer = *source_.layers()[i];
    if (recurrent_of(layer)->is_one_operator()) return fused(i, x);
    const bool gives_all = layer.output_shape().rank() == 2;
    const Shape shape = gives_all ? layer.output_shape().with_dim(0, 1) : layer.output_shape();
    const std::size_t of = layers_.result_of(i);
    const std::string name = layers_.name_of(i);
    std::vector<Value> inputs = {x, layers_.state_input(i, name + "_state", shape, of)};
    const std::vector<std::size_t>& beside = source_.program().values[of].beside;
    for (const std::size_t state : beside) {
      inputs.push_back(layers_.state_input(i, name + "_cell", {shape.dim(-1)}, state));
    }
    const std::optional<Value> flag = flag_of_call(i);
    Value result = step_.add_built(make_layer(describe_layer(layer)), inputs);
    const Index count = gives_all ? steps_of(streams_[i]) : 1;
    Value next = result;
    if (count > 1) next = layers_.part(i, name + "_next", result, count - 1, 1);
    layers_.carry(name + "_state", begun_state(i, name + "_state", next, flag, of));
    for (const std::size_t state : beside) {
      next = step_.add_built(std::make_unique<CellState>(name + "_cell_next"), {result});
      layers_.carry(name + "_cell", begun_state(i, name + "_cell", next, flag, state));
    }
    return result;
  }

  /// The result of the last layer, `next`, or 0 where the flag says that all of the call comes
  /// before the sequence.
  Value begun_state(std::size_t i, const std::string& state, const Value& next,
                    const std::optional<Value>& flag, std::size_t of) {
    if (!flag) return next;
    const bool is_row = step_.layers().back()->output_shape().rank() == 2;
    const Value factor =
        is_row ? *flag
               : layers_.add(i, std::make_unique<Reshape>(Shape{1}, state + "_begun"), {*flag});
    return layers_.product(i, state + "_zeroed", next, factor, of);
  }

  /// Steps that are kept of x, what layer `read` gives, for layer `i`, in front of x itself. Names
  /// begin with `name`.
  Value window(std::size_t i, const std::string& name, std::size_t read, const Value& x,
               Index kept) {
    const std::size_t of = layers_.result_of(read);
    const Shape& shape = source_.layers()[read]->output_shape();
    const Value before = layers_.state_input(i, name + "_state", shape.with_dim(0, kept), of);
    Value both = layers_.add(i, std::make_unique<Concatenate>(0, name + "_window"), {before, x});
    const Index count = step_.layers().back()->output_shape()[0];
    layers_.carry(name + "_state", layers_.part(i, name + "_next", both, count - kept, kept));
    return both;
  }

  /// x, what layer `read` gives, as layer `i` keeps it: what operators as TANH give is tied to no
  /// quantizer.
  Value tied(std::size_t i, const std::string& name, std::size_t read, const Value& x) {
    const std::size_t of = layers_.result_of(read);
    if (!layers_.reads_integers(i) || !layers_.form_of(of).fixed_by) return x;
    return layers_.quantized(i, x, name + "_quantize", of);
  }

  /// Input `k` of layer `i`, x, which waits for the input that comes latest.
  Value waiting(std::size_t i, std::size_t k, const Value& x) {
    const std::size_t read = source_.inputs_of(i)[k];
    const Stream& stream = streams_[read];
    const Index steps = streams_[i].delay - stream.delay;
    if (stream.rate == 0 || steps == 0) return x;
    const std::string name = fmt::format("{}_input{}", layers_.name_of(i), k + 1);
    return layers_.part(i, name, window(i, name, read, tied(i, name, read, x), steps), 0,
                        steps_of(stream));
  }

  /// The steps that layer `i` keeps of what it has read, in front of x, which it reads now.
  Value joined(std::size_t i, Value x, Index kept) {
    const std::size_t read = source_.inputs_of(i)[0];
    const std::string name = layers_.name_of(i);
    const Index zeroed = streams_[i].zeroed;
    if (zeroed > 0) {
      const Value flags = layers_.begun(i, zeroed, steps_read(i));
      x = layers_.product(i, name + "_zeroed", x, flags, layers_.result_of(read));
    }
    if (kept == 0) return x;
    return window(i, name, read, zeroed > 0 ? x : tied(i, name, read, x), kept);
  }

  /// What a state of recurrent layer `i` is to be multiplied by behind each call, where some come
  /// before the sequence.
  std::optional<Value> flag_of_call(std::size_t i) {
    const Index zeroed = streams_[i].zeroed;
    const Index at_once = steps_read(i);
    if (zeroed == 0) return std::nullopt;
    if (zeroed % at_once == 0) return layers_.begun(i, zeroed / at_once, 1);
    fail_to_stream(
        *source_.layers()[i],
        fmt::format("begins with a state of zeros and goes through {} steps in each call, but the "
                    "sequence that it reads comes {} steps late, within a call; expected a "
                    "multiple of {}: let the layers with strides stand in front of it, or give "
                    "the convolutions in front of it padding causal",
                    at_once, zeroed, at_once));
  }

  void add_outputs() {
    std::vector<std::string> outputs;
    for (const std::size_t output : source_.output_layers()) {
      step_.output(values_[output]);
      outputs.push_back(source_.layers()[output]->name());
    }
    const std::vector<std::size_t> inputs = step_.input_layers();
    for (const StepLayers::State& state : layers_.states()) {
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

  const Model& source_;
  std::vector<Stream> streams_;
  /// Steps of time in one piece.
  Index steps_ = 1;
  Model step_;
  std::vector<Value> values_;
  StepLayers layers_{source_, step_};
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
