#include <gtest/gtest.h>
#include <octet/core/archive.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/architecture.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/step_model.h>
#include <octet/tests/core/draw.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/core/random_networks.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/layers/quantize/random_streams.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

// A network that goes through a sequence step by step computes what the network of the whole
// sequence does.

namespace octet::test::step_model_equality_test {
namespace {

/// Part number `i` of `parts` equal ones.
std::span<const std::byte> part(std::span<const std::byte> bytes, Index i, Index parts) {
  const std::size_t size = bytes.size() / static_cast<std::size_t>(parts);
  return bytes.subspan(static_cast<std::size_t>(i) * size, size);
}

/// The bytes of integers, or floats, of which 0 and -0 are equal, as numbers.
std::vector<float> numbers_in(std::span<const std::byte> bytes, DType type) {
  std::vector<float> numbers;
  if (type == DType::float32) {
    numbers.resize(bytes.size() / sizeof(float));
    std::ranges::copy(bytes, std::as_writable_bytes(std::span(numbers)).begin());
  } else {
    for (const std::byte b : bytes) numbers.push_back(static_cast<float>(b));
  }
  return numbers;
}

/// Codes, floats between -3 and 3, or as floats indices below `rows` where that is not 0.
std::vector<std::byte> drawn_input(const IntegerModel& model, std::size_t bytes, Draw& draw,
                                   int rows) {
  std::vector<std::byte> drawn(bytes);
  if (model.tensors[static_cast<std::size_t>(model.inputs[0])].dtype == DType::float32) {
    std::vector<float> values(drawn.size() / sizeof(float));
    for (float& v : values) {
      v = rows > 0 ? static_cast<float>(draw.between(0, rows - 1))
                   : static_cast<float>(draw.between(-300, 300)) / 100.0F;
    }
    std::ranges::copy(std::as_bytes(std::span(values)), drawn.begin());
  } else {
    for (std::byte& b : drawn) b = static_cast<std::byte>(draw.between(-128, 127));
  }
  return drawn;
}

/// Runs one sequence in one model and piece by piece in the other, beyond its end where results
/// come late: outputs are the same, those of a sequence step by step, and others in the call that
/// gives them. Where a layer looks ahead, what comes behind the end is not the sequence's.
void expect_same(const IntegerModel& whole, const IntegerModel& piece, const StepModel& one,
                 Index steps, std::uint64_t seed, bool looks_ahead = false, int table = 0) {
  Interpreter interpreter(whole);
  StreamingInterpreter stream(piece, one.states);
  Draw draw(seed);
  for (int sequence = 0; sequence < 3; ++sequence) {
    const std::vector<std::byte> drawn =
        drawn_input(whole, interpreter.input_bytes().size(), draw, table);
    std::ranges::copy(drawn, interpreter.input_bytes().begin());
    interpreter.invoke();
    stream.reset();
    const Index late = *std::ranges::max_element(one.delays) + 1;
    const Index calls =
        looks_ahead ? steps / one.steps : (steps + one.steps - 1) / one.steps + late;
    std::size_t compared = 0;
    for (Index call = 0; call < calls; ++call) {
      auto to = stream.interpreter().input_bytes().begin();
      for (Index i = call * one.steps; i < (call + 1) * one.steps; ++i) {
        to = std::ranges::copy(part(drawn, std::min(i, steps - 1), steps), to).out;
      }
      stream.step();
      for (std::size_t k = 0; k < whole.outputs.size(); ++k) {
        const auto& shape = whole.tensors[static_cast<std::size_t>(whole.outputs[k])].shape;
        const auto& small = piece.tensors[static_cast<std::size_t>(piece.outputs[k])].shape;
        const DType type = whole.tensors[static_cast<std::size_t>(whole.outputs[k])].dtype;
        const bool is_sequence = shape.size() == 3;
        const Index count = is_sequence ? small[1] : 1;
        for (Index row = 0; row < count; ++row) {
          const Index at = call * count + row - one.delays[k];
          const Index rows = is_sequence ? shape[1] : 1;
          if (at < 0 || at >= rows) continue;
          const auto expected = numbers_in(part(interpreter.output_bytes(k), at, rows), type);
          ASSERT_EQ(numbers_in(part(stream.interpreter().output_bytes(k), row, count), type),
                    expected)
              << "output " << k << ", call " << call << ", step " << at;
          ++compared;
        }
      }
    }
    ASSERT_GE(compared, whole.outputs.size());
  }
}

TEST(StepModel, OfAnSVDFComputesTheSame) {
  for (const Index rank : {1, 3}) {
    Model model("filters");
    const Value x = model.add(SVDF(4, 5, Activation::relu, {.rank = rank}), model.input({12, 3}));
    model.output(model.add(SVDF(3, 2, Activation::none, {.rank = rank}), x));
    model.build(1);
    Model quantized = quantize_model(model);
    calibrate(quantized, random_tensor({20, 12, 3}, 1));
    const StepModel one = step_model(quantized);
    EXPECT_EQ(one.delays, std::vector<Index>{0});
    expect_same(lower(quantized), lower(one), one, 12, 1);
  }
}

TEST(StepModel, OfIndicesComputesTheSame) {
  constexpr int kRows = 20;
  constexpr Index kSteps = 12;
  Model model("words");
  Value x = model.add(Embedding(kRows, 6), model.input({kSteps}));
  x = model.add(Conv1D(5, 3, Activation::relu, {.stride = 2, .padding = Padding::causal}), x);
  model.output(model.add(GRU(4, {.return_sequences = true}), x));
  model.build(1);
  Model quantized = quantize_model(model);
  Tensor indices = Tensor::uniform({30, kSteps}, Random(1), 0.0F, 1.0F);
  for (float& v : indices.mutable_span()) v = std::min(std::floor(v * kRows), kRows - 1.0F);
  calibrate(quantized, indices);
  const StepModel one = step_model(quantized);
  EXPECT_EQ(one.steps, 2);
  expect_same(lower(quantized), lower(one), one, kSteps, 1, false, kRows);
  const StepModel real = step_model(model);
  expect_same(lower_float(model), lower_float(real.model), real, kSteps, 2, false, kRows);
}

TEST(StepModel, WaitsForWhatAConvolutionLooksAheadTo) {
  for (const Index size : {3, 4, 5, 6}) {
    for (const Index stride : {1, 2}) {
      SCOPED_TRACE("size " + std::to_string(size) + ", stride " + std::to_string(stride));
      constexpr Index kSteps = 16;
      Model model("ahead");
      Value x = model.add(GRU(4, {.return_sequences = true}), model.input({kSteps, 3}));
      x = model.add(Conv1D(5, size, Activation::relu,
                           {.stride = stride, .padding = Padding::same, .name = "wide"}),
                    x);
      model.output(model.add(Dense(2, Activation::tanh), x));
      model.build(1);
      Model quantized = quantize_model(model);
      calibrate(quantized, random_tensor({20, kSteps, 3}, 1));
      expect_throws<InvalidArgument>([&] { static_cast<void>(step_model(quantized)); },
                                     {"wide", "ahead", "StepModelOptions::delay"});
      const StepModel one = step_model(quantized, {.delay = true});
      EXPECT_EQ(one.delays, (std::vector<Index>{(size + stride - 1) / 2 / stride}));
      expect_same(lower(quantized), lower(one), one, kSteps, 1, /*looks_ahead=*/true);
    }
  }
}

TEST(StepModel, TakesAMultipleOfEveryRateAtOnce) {
  Model model("rates");
  const Value x = model.input({12, 3});
  for (const Index stride : {2, 3}) {
    model.output(model.add(
        Conv1D(2, stride + 1, Activation::relu, {.stride = stride, .padding = Padding::causal}),
        x));
  }
  model.build(1);
  Model quantized = quantize_model(model);
  calibrate(quantized, random_tensor({20, 12, 3}, 1));
  const StepModel one = step_model(quantized);
  EXPECT_EQ(one.steps, 6);
  expect_same(lower(quantized), lower(one), one, 12, 1);
}

TEST(StepModel, OfInt16ActivationsComputesTheSame) {
  Model model("wide");
  const Value x = model.input({8, 3}, "x");
  const Value y = model.add(Conv1D(4, 3, Activation::sigmoid, {.padding = Padding::causal}), x);
  const Value z = model.add(SeparableConv1D(4, 3, Activation::relu, {.stride = 2}), y);
  model.output(model.add(Dense(3), model.add(Flatten(), z)));
  model.build(1);
  Model wide = quantize_model(
      model, {.rounding = Rounding::q15, .activation_bits = 16, .per_channel = true});
  calibrate(wide, random_tensor({20, 8, 3}, 1));
  const StepModel one = step_model(wide);
  expect_same(lower(wide), lower(one), one, 8, 1);
}

class StepModelEquality : public testing::TestWithParam<Rounding> {};

TEST_P(StepModelEquality, OfRandomNetworks) {
  const int bits = GetParam() == Rounding::q15 ? 16 : 8;
  for (std::uint32_t seed = 0; seed < random_networks(bits == 16 ? 50 : 200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStream net(seed, bits);
    Model model = quantize_model(net.model(), {.rounding = GetParam(), .activation_bits = bits});
    calibrate(model, net.batch(17));
    const StepModel one = streamed(model);
    expect_same(lower(model), lower(one.model), one, net.steps(), seed, net.looks_ahead());
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Contracts, StepModelEquality, ::testing::ValuesIn(kContracts),
                         contract_name);
INSTANTIATE_TEST_SUITE_P(Int16, StepModelEquality, ::testing::Values(Rounding::q15), contract_name);

TEST(StepModel, OfAFloatNetworkComputesTheSame) {
  for (std::uint32_t seed = 0; seed < random_networks(50); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomStream net(seed);
    const StepModel one = streamed(net.model());
    expect_same(lower_float(net.model()), lower_float(one.model), one, net.steps(), seed,
                net.looks_ahead());
    if (HasFatalFailure()) return;
  }
}

/// Layers behind one another, of which the later ones begin with zeros.
struct Stack {
  LayerChain (*layers)();
  Index steps;
  Index delay;
  bool looks_ahead = true;
  bool takes_int16 = true;
};

Conv1D same(Index size, Index stride = 1, Activation f = Activation::none) {
  return Conv1D(3, size, f, {.stride = stride, .padding = Padding::same});
}

Conv1D causal(Index size, Index stride = 1) {
  return Conv1D(3, size, Activation::relu, {.stride = stride, .padding = Padding::causal});
}

const Stack kStacks[] = {
    {[] { return LayerChain(same(3), same(5)); }, 1, 3},
    {[] { return LayerChain(same(3, 1, Activation::sigmoid), same(3)); }, 1, 2},
    {[] { return LayerChain(Conv1D(4, 3), same(3)); }, 1, 3},
    {[] { return LayerChain(same(3), causal(3)); }, 1, 1},
    {[] { return LayerChain(same(5), same(4, 2)); }, 2, 2},
    {[] { return LayerChain(same(4, 2), same(3), Dense(2), same(3)); }, 2, 3},
    // Keeps no steps.
    {[] { return LayerChain(same(5), causal(3, 3)); }, 3, 0},
    {[] { return LayerChain(same(3), GRU(3, {.return_sequences = true}), causal(2)); }, 1, 1},
    {[] { return LayerChain(same(5), SimpleRNN(3, {.return_sequences = true})); }, 1, 2},
    // Goes through two steps in each call.
    {[] { return LayerChain(same(5), LSTM(3, {.return_sequences = true}), causal(4, 2)); }, 2, 1},
    // The call that gives the result of the whole sequence.
    {[] { return LayerChain(Conv1D(4, 3), LSTM(3)); }, 1, 23, false},
    {[] {
       return LayerChain(Conv1D(4, 3),
                         MaxPool1D({.size = 3, .stride = 1, .padding = Padding::causal}));
     },
     1, 2, false, false},
};

TEST(StepModel, OfStacksThatBeginWithZeros) {
  constexpr Index kSteps = 24;
  for (const Stack& stack : kStacks) {
    SCOPED_TRACE("stack " + std::to_string(&stack - kStacks));
    Model model("stack");
    model.output(model.add(stack.layers(), model.input({kSteps, 3})));
    model.build(1);
    const StepModel real = step_model(model, {.delay = true});
    EXPECT_EQ(real.steps, stack.steps);
    EXPECT_EQ(real.delays, std::vector<Index>{stack.delay});
    expect_same(lower_float(model), lower_float(real.model), real, kSteps, 1, stack.looks_ahead);
    for (const int bits : {8, 16}) {
      if (bits == 16 && !stack.takes_int16) continue;
      Model quantized = quantize_model(
          model,
          {.rounding = bits == 16 ? Rounding::q15 : Rounding::fp32, .activation_bits = bits});
      calibrate(quantized, random_tensor({20, kSteps, 3}, 1));
      const StepModel one = step_model(quantized, {.delay = true});
      EXPECT_EQ(one.delays, real.delays);
      expect_same(lower(quantized), lower(one), one, kSteps, 1, stack.looks_ahead);
    }
  }
}

// States are those of the operator, and of a file's variable tensors.
TEST(StepModel, OfAFusedLstmComputesTheSame) {
  for (const bool all : {true, false}) {
    for (const bool is_wide : {true, false}) {
      Model model("fused");
      const Value x =
          model.add(Conv1D(4, 3, Activation::relu, {.stride = 2, .padding = Padding::causal}),
                    model.input({8, 3}));
      const Value h = model.add(LSTM(5, {.return_sequences = true, .fused = true}), x);
      const Value last = model.add(LSTM(3, {.return_sequences = all, .fused = true}), h);
      model.output(all ? last : model.add(Dense(2), last));
      model.build(2);
      Model integers =
          is_wide ? quantize_model(model, {.rounding = Rounding::q15, .activation_bits = 16})
                  : quantize_model(model, {.rounding = Rounding::double_rounding});
      calibrate(integers, random_tensor({20, 8, 3}, 1));
      const StepModel one = step_model(integers);
      const IntegerModel piece = lower(one);
      EXPECT_EQ(std::ranges::count(piece.operators, OpCode::unidirectional_sequence_lstm,
                                   &Operator::code),
                2);
      expect_same(lower(integers), piece, one, 8, 3);
      const IntegerModel read = from_tflite(to_tflite(piece));
      const StepModel carried{Model("none"), kept_states(read).states, one.steps, one.delays};
      expect_same(lower(integers), read, carried, 8, 4);
      expect_same(lower(integers), lower(one.model), one, 8, 5);
      Archive archive;
      for (const auto& [name, tensor] : one.model.saved_tensors()) archive.add(name, tensor);
      add_architecture(archive, one.model);
      const StepModel loaded{model_from_archive(archive), one.states, one.steps, one.delays};
      EXPECT_EQ(to_tflite(lower(loaded)), to_tflite(piece));
    }
  }
}

}  // namespace
}  // namespace octet::test::step_model_equality_test
