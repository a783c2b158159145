#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/window.h>
#include <octet/layers/program/program.h>
#include <octet/layers/program/streams.h>
#include <octet/layers/quantize/model_passes.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/recurrent.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <optional>
#include <variant>

namespace octet {

const Layer& inner_of(const Layer& layer) {
  const QuantizeWrapper* const wrapper = as_quantize_wrapper(layer);
  return wrapper == nullptr ? layer : wrapper->wrapped();
}

const Recurrent* recurrent_of(const Layer& layer) {
  return dynamic_cast<const Recurrent*>(&inner_of(layer));
}

void fail_to_stream(const Layer& layer, std::string_view why) {
  throw InvalidArgument(fmt::format("step_model: layer \"{}\" of type {} {}", layer.name(),
                                    inner_of(layer).type(), why));
}

namespace {

/// The window of a convolution or a pool over sequences, which are images of height 1; none of any
/// other step.
std::optional<WindowAxis> window_of(const Program& program, const Step& step) {
  if (step.inputs.empty()) return std::nullopt;
  const Shape& image = program.values[step.inputs[0]].shape;
  if (image.rank() != 3 || image[0] != 1) return std::nullopt;
  if (step.kind == Step::Kind::linear) {
    const LayerWeights weights = weights_of(step);
    if (!weights.convolution || weights.transposed || weights.kernel.dim(0) != 1) {
      return std::nullopt;
    }
    const Conv2DOptions& options = *weights.convolution;
    return slide_window(image[1], weights.kernel.dim(1), options.stride[1], options.dilation[1],
                        options.padding);
  }
  const auto* pool = std::get_if<PoolAttributes>(&step.attributes);
  if (step.kind != Step::Kind::op || pool == nullptr || pool->filter_h != 1) return std::nullopt;
  return slide_window(image[1], pool->filter_w, pool->stride_w, 1, pool->padding);
}

/// Whether a value is nothing but a table in which rows are looked up.
bool is_table(const Program& program, std::size_t value) {
  return std::ranges::all_of(program.steps, [value](const Step& step) {
    const auto read = std::ranges::count(step.inputs, value);
    return read == 0 || (step.kind == Step::Kind::op && step.code == OpCode::gather && read == 1 &&
                         step.inputs[0] == value);
  });
}

/// Whether a step of a layer that reads [steps, features] computes each step of time alone.
bool is_stepwise(const Program& program, const Step& step) {
  switch (step.kind) {
    case Step::Kind::quantize:
    case Step::Kind::requantize:
      return true;
    case Step::Kind::parameter:
      // One that is read at every step of time, or a table.
      return program.values[step.result].shape.rank() < 2 || is_table(program, step.result);
    case Step::Kind::function:
      return step.function.only_trains || step.function.each_position;
    case Step::Kind::linear: {
      if (!weights_of(step).convolution) return true;
      const std::optional<WindowAxis> window = window_of(program, step);
      return window && window->kernel == 1 && window->stride == 1;
    }
    case Step::Kind::op: {
      const Shape& result = program.values[step.result].shape;
      if (const auto* join = std::get_if<ConcatenationAttributes>(&step.attributes)) {
        return join->axis == -1 || join->axis == result.rank();
      }
      if (step.code == OpCode::strided_slice) {
        // Cuts features alone.
        const Shape& read = program.values[step.inputs[0]].shape;
        return read.rank() == 2 && result.rank() == 2 && read[0] == result[0];
      }
      if (step.code == OpCode::reshape) {
        // Sequences as images of one row, and back.
        const Shape& read = program.values[step.inputs[0]].shape;
        return read.rank() > 0 && result.rank() > 0 && read.dim(-1) == result.dim(-1);
      }
      // The last axis, along which SOFTMAX sums, is that of the features. Rows are looked up one by
      // one.
      return step.code == OpCode::gather || definition(step.code).is_elementwise() ||
             step.code == OpCode::softmax;
    }
  }
  throw InvalidArgument("step_model: a kind of step outside the enumeration");
}

/// How many zeros a step puts in front of all that an image of one row holds; 0 for any other step.
Index zeros_in_front(const Step& step) {
  if (step.kind != Step::Kind::op || step.code != OpCode::pad) return 0;
  constexpr std::size_t kLeft = 4;
  for (std::size_t i = 0; i < step.numbers.size(); ++i) {
    if (i != kLeft && step.numbers[i] != 0) return 0;
  }
  return step.numbers[kLeft];
}

/// The only step of a layer that does not compute each step of time alone, where it is a window,
/// with the zeros that a step in front of it puts before the sequence.
std::optional<WindowAxis> window_of(const Layer& layer) {
  const bool reads_sequence = layer.input_shapes().size() == 1 && layer.input_shape().rank() == 2;
  if (!reads_sequence) return std::nullopt;
  const Program program = program_of(inner_of(layer));
  std::optional<WindowAxis> found;
  Index zeros = 0;
  for (const Step& step : program.steps) {
    if (is_stepwise(program, step)) continue;
    if (found) return std::nullopt;
    if (zeros == 0 && zeros_in_front(step) > 0) {
      zeros = zeros_in_front(step);
      continue;
    }
    found = window_of(program, step);
    if (!found) return std::nullopt;
  }
  if (found) {
    found->input -= zeros;
    found->before += zeros;
  }
  return found;
}

bool computes_each_step(const Layer& layer) {
  const Program program = program_of(inner_of(layer));
  return std::ranges::all_of(program.steps,
                             [&](const Step& step) { return is_stepwise(program, step); });
}

/// Throws InvalidArgument where the layer's result is made of the last steps of a sequence, which
/// do not come.
void require_last_steps(const Layer& layer, const Stream& read) {
  if (!read.unfinished) return;
  fail_to_stream(layer,
                 "makes one result of a whole sequence, but the last steps of what it reads do not "
                 "come, for which a layer in front of it looks beyond the end; give that padding "
                 "causal");
}

/// Whether what lies beside a sequence counts as zeros, which a pool leaves out.
bool reads_zeros_beside(const Layer& layer) {
  const Program program = program_of(inner_of(layer));
  return std::ranges::none_of(program.steps, [](const Step& step) {
    return std::holds_alternative<PoolAttributes>(step.attributes);
  });
}

Stream windowed(const Layer& layer, const WindowAxis& window, const Stream& read, bool delays) {
  const Index span = (window.kernel - 1) * window.dilation + 1;
  const Index ahead = span - 1 - window.before;
  const bool pads_behind = window.after() > 0 || (window.before > 0 && ahead > 0);
  const bool may_wait = reads_zeros_beside(layer);
  if (pads_behind && !(delays && may_wait)) {
    fail_to_stream(
        layer,
        fmt::format("looks {} steps of time ahead; with padding causal it looks back "
                    "instead, and what it finds comes {} steps later{}",
                    ahead, ahead,
                    may_wait ? "; or let StepModelOptions::delay have it wait so long" : ""));
  }
  const Index least = span - window.stride;
  const Index beyond = (window.before - read.delay - least) % window.stride;
  Stream stream{.kind = Stream::Kind::window,
                .rate = read.rate * window.stride,
                .zeroed = window.before > 0 ? read.delay : 0,
                .unfinished = read.unfinished || pads_behind};
  stream.kept = least + (beyond < 0 ? beyond + window.stride : beyond);
  stream.delay = (read.delay + stream.kept - window.before) / window.stride;
  if (stream.kept < 0) {
    fail_to_stream(layer, fmt::format("leaves out steps of a sequence that comes {} steps late; "
                                      "give the convolutions in front of it padding causal",
                                      read.delay));
  }
  return stream;
}

class StreamAnalysis {
 public:
  StreamAnalysis(const Model& model, bool delays)
      : model_(model), delays_(delays), streams_(model.layers().size()) {}

  std::vector<Stream> run() {
    const std::vector<bool> wanted = sequences_wanted();
    const std::vector<bool> indices = indices_of(model_);
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      // An index is a step, as a row of features is.
      const Index rank = indices[i] ? 1 : 2;
      if (!model_.inputs_of(i).empty()) {
        streams_[i] = stream_of(i);
      } else if (wanted[i] && model_.layers()[i]->output_shape().rank() == rank) {
        streams_[i] = {Stream::Kind::each_step, 1};
      }
    }
    return std::move(streams_);
  }

 private:
  /// By layer: whether its result is what a recurrent layer or a window goes through.
  std::vector<bool> sequences_wanted() const {
    std::vector<bool> wanted(streams_.size());
    for (std::size_t i = streams_.size(); i-- > 0;) {
      const Layer& layer = *model_.layers()[i];
      const std::vector<std::size_t>& inputs = model_.inputs_of(i);
      const bool goes_through = recurrent_of(layer) != nullptr || window_of(layer).has_value();
      if (goes_through) {
        wanted[inputs[0]] = true;
      } else if (wanted[i]) {
        for (const std::size_t input : inputs) wanted[input] = true;
      }
    }
    return wanted;
  }

  Stream stream_of(std::size_t i) const {
    const Layer& layer = *model_.layers()[i];
    std::vector<Stream> sequences;
    Stream result;
    for (const std::size_t input : model_.inputs_of(i)) {
      if (streams_[input].rate > 0) sequences.push_back(streams_[input]);
      result.end = std::max(result.end, streams_[input].end);
    }
    const bool gives_sequence = layer.output_shape().rank() == 2;
    if (sequences.empty() && recurrent_of(layer) == nullptr) return result;
    if (recurrent_of(layer) != nullptr) return recurrent(layer, streams_[model_.inputs_of(i)[0]]);
    const Stream& read = sequences.front();
    if (gives_sequence && computes_each_step(layer)) {
      for (const Stream& other : sequences) {
        if (other.rate == read.rate) continue;
        fail_to_stream(layer, fmt::format("reads sequences that do not keep step: one step for {} "
                                          "of the network's input, and one for {}",
                                          read.rate, other.rate));
      }
      return {.kind = Stream::Kind::each_step,
              .rate = read.rate,
              .delay = std::ranges::max(sequences, {}, &Stream::delay).delay,
              .unfinished = std::ranges::any_of(sequences, &Stream::unfinished)};
    }
    const std::optional<WindowAxis> window = window_of(layer);
    if (gives_sequence && window) return windowed(layer, *window, read, delays_);
    if (layer.output_shape().rank() == 1 && layer.input_shapes().size() == 1) {
      require_last_steps(layer, read);
      return {.kind = Stream::Kind::whole,
              .end = (layer.input_shape()[0] + read.delay) * read.rate};
    }
    fail_to_stream(layer,
                   "looks at several steps of time; expected layers that compute each step alone, "
                   "as Dense does, windows along the steps, and recurrent ones");
  }

  Stream recurrent(const Layer& layer, const Stream& read) const {
    if (recurrent_of(layer)->masked()) {
      fail_to_stream(layer,
                     "reads a mask, but a stream has no steps that only fill it up; build the "
                     "network without RecurrentOptions::masked and give it these weights");
    }
    if (recurrent_of(layer)->goes_backwards()) {
      fail_to_stream(
          layer,
          "begins at the last step of a sequence, which a stream does not know; expected "
          "a layer without RecurrentOptions::go_backwards");
    }
    if (layer.input_shapes().size() > 1) {
      fail_to_stream(layer, "is given a first state, which step_model() is to carry");
    }
    Stream stream{.kind = Stream::Kind::recurrent, .zeroed = read.delay};
    if (layer.output_shape().rank() == 2) {
      stream.rate = read.rate;
      stream.delay = read.delay;
      stream.unfinished = read.unfinished;
      return stream;
    }
    require_last_steps(layer, read);
    stream.end = (layer.input_shape()[0] + read.delay) * read.rate;
    return stream;
  }

  const Model& model_;
  bool delays_;
  std::vector<Stream> streams_;
};

}  // namespace

std::vector<Stream> streams_of(const Model& model, bool delays) {
  return StreamAnalysis(model, delays).run();
}

}  // namespace octet
