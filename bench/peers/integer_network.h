#pragma once

#include <fmt/core.h>
#include <octet/bench/peers/layers.h>
#include <octet/bench/timing.h>
#include <octet/core/random.h>
#include <octet/core/window.h>
#include <octet/runtime/interpreter.h>

#include <ctime>
#include <memory>

// An int8 model of convolutions as a runtime's own calls take it.

namespace octet::peers {

/// One operator of a model, with its operands.
struct IntegerStep {
  OpCode code = OpCode::conv_2d;
  /// Tensors of the model.
  std::vector<std::size_t> inputs;
  std::size_t output = 0;
  const ModelTensor* x = nullptr;
  const ModelTensor* y = nullptr;
  /// Null where the operator has none.
  const ModelTensor* kernel = nullptr;
  /// Rows and columns of the window that slides over images.
  WindowAxis rows;
  WindowAxis columns;
  bool relu = false;
  std::vector<std::int32_t> bias;

  bool is_depthwise() const { return code == OpCode::depthwise_conv_2d; }
};

inline std::int64_t extent(const ModelTensor& tensor, std::size_t axis) {
  return tensor.shape.at(axis);
}

template <class Attributes>
void add_window(IntegerStep& step, const Attributes& of, Index kernel_h, Index kernel_w) {
  step.rows = slide_window(extent(*step.x, 1), kernel_h, of.stride_h, 1, of.padding);
  step.columns = slide_window(extent(*step.x, 2), kernel_w, of.stride_w, 1, of.padding);
}

inline IntegerStep integer_step(const IntegerModel& model, const Operator& op) {
  const auto tensor = [&model](std::size_t index) { return &model.tensors.at(index); };
  IntegerStep step;
  step.code = op.code;
  for (const std::int32_t index : op.inputs) step.inputs.push_back(static_cast<std::size_t>(index));
  step.output = static_cast<std::size_t>(op.outputs.at(0));
  step.x = tensor(step.inputs.at(0));
  step.y = tensor(step.output);
  step.relu = op.activation() == FusedActivation::relu;
  const bool is_weighted = op.code == OpCode::conv_2d || op.code == OpCode::depthwise_conv_2d ||
                           op.code == OpCode::fully_connected;
  if (is_weighted) {
    step.kernel = tensor(step.inputs.at(1));
    step.bias = values<std::int32_t>(*tensor(step.inputs.at(2)));
  }
  if (op.code == OpCode::conv_2d) {
    add_window(step, op.as<Conv2DAttributes>(), extent(*step.kernel, 1), extent(*step.kernel, 2));
  } else if (op.code == OpCode::depthwise_conv_2d) {
    add_window(step, op.as<DepthwiseConv2DAttributes>(), extent(*step.kernel, 1),
               extent(*step.kernel, 2));
  } else if (op.code == OpCode::max_pool_2d || op.code == OpCode::average_pool_2d) {
    const auto& pool = op.as<PoolAttributes>();
    add_window(step, pool, pool.filter_h, pool.filter_w);
  }
  return step;
}

/// The operators of a model up to its softmax, which is left to us alone. A reshape, which changes
/// no code, is left out: `alias` says whose codes a tensor has.
struct IntegerNetwork {
  explicit IntegerNetwork(const std::string& file) : model(read_tflite(file)) {
    for (std::size_t i = 0; i < model.tensors.size(); ++i) alias.push_back(i);
    for (const Operator& op : model.operators) {
      if (op.code == OpCode::softmax) break;
      IntegerStep step = integer_step(model, op);
      for (std::size_t& input : step.inputs) input = alias[input];
      if (op.code == OpCode::reshape) {
        alias[step.output] = step.inputs.at(0);
      } else {
        steps.push_back(std::move(step));
      }
    }
  }

  std::size_t input() const { return static_cast<std::size_t>(model.inputs.at(0)); }

  IntegerModel model;
  std::vector<IntegerStep> steps;
  std::vector<std::size_t> alias;
};

/// Codes of noise.
inline void fill_with_noise(std::vector<std::int8_t>& codes) {
  const Random noise(1);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<std::int8_t>(noise.bits(i) & 0xFFU);
  }
}

/// The members of a line of JSON that say how long a call takes, in microseconds.
template <class Run>
std::string call_times(Run run) {
  const auto processor = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  const bench::Timing wall = bench::time_calls(run);
  const bench::Timing busy = bench::time_calls(run, processor);
  return fmt::format("\"us\": {}, \"min\": {}, \"cpu_us\": {}, \"cpu_min\": {}", 1e6 * wall.median,
                     1e6 * wall.best, 1e6 * busy.median, 1e6 * busy.best);
}

/// The share of a peer's last codes that are the interpreter's as well.
inline double equal_codes(const IntegerNetwork& network, std::int64_t batch,
                          const std::vector<std::int8_t>& input,
                          const std::vector<std::int8_t>& found) {
  IntegerModel logits = network.model;
  std::erase_if(logits.operators, [](const Operator& op) { return op.code == OpCode::softmax; });
  logits.outputs = logits.operators.back().outputs;
  Interpreter interpreter(std::make_shared<const IntegerModel>(std::move(logits)),
                          {.batch = batch});
  std::ranges::transform(input.begin(), input.begin() + std::ssize(interpreter.input_bytes()),
                         interpreter.input_bytes().begin(),
                         [](std::int8_t code) { return static_cast<std::byte>(code); });
  interpreter.invoke();
  const auto expected = interpreter.output_bytes();
  std::size_t equal = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    equal += static_cast<std::byte>(found.at(i)) == expected[i] ? 1U : 0U;
  }
  return static_cast<double>(equal) / static_cast<double>(expected.size());
}

}  // namespace octet::peers
