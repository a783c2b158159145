#include <gmock/gmock.h>
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

namespace octet::test::step_model_test {
namespace {

/// Part number `i` of `parts` equal ones.
std::span<const std::byte> part(std::span<const std::byte> bytes, Index i, Index parts) {
  const std::size_t size = bytes.size() / static_cast<std::size_t>(parts);
  return bytes.subspan(static_cast<std::size_t>(i) * size, size);
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
/// come late: outputs are the same bytes, those of a sequence step by step, and others in the call
/// that gives them. The last `unfinished` results of a sequence do not come.
void expect_same(const IntegerModel& whole, const IntegerModel& piece, const StepModel& one,
                 Index steps, std::uint64_t seed, Index unfinished = 0, int table = 0) {
  Interpreter interpreter(whole);
  StreamingInterpreter stream(piece, one.states);
  Draw draw(seed);
  for (int sequence = 0; sequence < 3; ++sequence) {
    const std::vector<std::byte> drawn =
        drawn_input(whole, interpreter.input_bytes().size(), draw, table);
    std::ranges::copy(drawn, interpreter.input_bytes().begin());
    interpreter.invoke();
    stream.reset();
    const Index calls = (steps + one.steps - 1) / one.steps;
    const Index late = *std::ranges::max_element(one.delays) + 1;
    std::size_t compared = 0;
    for (Index call = 0; call < calls + late; ++call) {
      auto to = stream.interpreter().input_bytes().begin();
      for (Index i = call * one.steps; i < (call + 1) * one.steps; ++i) {
        to = std::ranges::copy(part(drawn, std::min(i, steps - 1), steps), to).out;
      }
      stream.step();
      for (std::size_t k = 0; k < whole.outputs.size(); ++k) {
        const auto& shape = whole.tensors[static_cast<std::size_t>(whole.outputs[k])].shape;
        const auto& small = piece.tensors[static_cast<std::size_t>(piece.outputs[k])].shape;
        const bool is_sequence = shape.size() == 3;
        const Index count = is_sequence ? small[1] : 1;
        for (Index row = 0; row < count; ++row) {
          const Index at = call * count + row - one.delays[k];
          const Index rows = is_sequence ? shape[1] : 1;
          if (at < 0 || at >= rows - unfinished) continue;
          ASSERT_THAT(part(stream.interpreter().output_bytes(k), row, count),
                      ::testing::ElementsAreArray(part(interpreter.output_bytes(k), at, rows)))
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
  expect_same(lower(quantized), lower(one), one, kSteps, 1, 0, kRows);
  const StepModel real = step_model(model);
  expect_same(lower_float(model), lower_float(real.model), real, kSteps, 2, 0, kRows);
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
      expect_same(lower(quantized), lower(one), one, kSteps, 1, /*unfinished=*/one.delays[0]);
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

class StepModelEquality : public testing::TestWithParam<Rounding> {};

TEST_P(StepModelEquality, OfRandomNetworks) {
  for (std::uint32_t seed = 0; seed < random_networks(200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStream net(seed);
    Model model = quantize_model(net.model(), {.rounding = GetParam()});
    calibrate(model, net.batch(17));
    const StepModel one = streamed(model);
    expect_same(lower(model), lower(one.model), one, net.steps(), seed);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Contracts, StepModelEquality, ::testing::ValuesIn(kContracts),
                         contract_name);

TEST(StepModel, OfAFloatNetworkComputesTheSame) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomStream net(seed);
    const StepModel one = streamed(net.model());
    expect_same(lower_float(net.model()), lower_float(one.model), one, net.steps(), seed);
    if (HasFatalFailure()) return;
  }
}

/// x [3, 2], a Dense at each step, a GRU, an end.
Model small(bool quantized = true) {
  Model model("small");
  const Value x = model.input({3, 2}, "x");
  const Value dense = model.add(Dense(4, Activation::relu, "dense"), x);
  const Value state = model.add(GRU(3, {.name = "memory"}), dense);
  model.output(model.add(Dense(2, Activation::none, "end"), state));
  model.build(1);
  if (!quantized) return model;
  Model integers = quantize_model(model);
  calibrate(integers, random_tensor({20, 3, 2}, 1));
  return integers;
}

TEST(StepModel, NamesItsStates) {
  const StepModel one = step_model(small());
  ASSERT_EQ(one.states.size(), 1U);
  EXPECT_EQ(one.states[0], (CarriedState{.input = 1, .output = 1}));
  const IntegerModel lowered = lower(one.model);
  ASSERT_EQ(lowered.inputs.size(), 2U);
  EXPECT_EQ(lowered.tensors[static_cast<std::size_t>(lowered.inputs[0])].name, "x");
  EXPECT_EQ(lowered.tensors[static_cast<std::size_t>(lowered.inputs[1])].name, "memory_state");
  EXPECT_EQ(one.model.input_layers().size(), 2U);
}

/// x [12, 2], a convolution that gives every second step behind a tanh, a mean of all.
Model small_convolution(const QuantizeOptions& options = {}) {
  Model model("small");
  const Value x = model.input({12, 2}, "x");
  const Value near = model.add(Conv1D(4, 1, Activation::tanh), x);
  const Value seen =
      model.add(Conv1D(3, 3, Activation::relu,
                       {.stride = 2, .dilation = 2, .padding = Padding::causal, .name = "seen"}),
                near);
  model.output(model.add(MaxPool1D({.size = 3, .stride = 2, .name = "pool"}), seen));
  model.output(model.add(GlobalAveragePool1D("mean"), seen));
  model.build(1);
  Model integers = quantize_model(model, options);
  calibrate(integers, random_tensor({20, 12, 2}, 1));
  return integers;
}

TEST(StepModel, KeepsWhatWindowsHaveRead) {
  const StepModel one = step_model(small_convolution());
  EXPECT_EQ(one.steps, 4);
  // The first pool reads a step in front of the sequence; the mean of 6 comes in the third call.
  EXPECT_EQ(one.delays, (std::vector<Index>{1, 2}));
  const auto shape_of = [&](std::string_view name) { return one.model.layer(name).output_shape(); };
  EXPECT_EQ(shape_of("x"), (Shape{4, 2}));
  EXPECT_EQ(shape_of("seen_state"), (Shape{4, 4}));
  EXPECT_EQ(shape_of("pool_state"), (Shape{2, 3}));
  EXPECT_EQ(shape_of("mean_state"), (Shape{4, 3}));
  EXPECT_EQ(one.states, (std::vector<CarriedState>{{1, 2}, {2, 3}, {3, 4}}));
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

TEST(StepModel, IsSavedAndLoaded) {
  for (const Model& model : {small(), small_convolution()}) {
    const StepModel one = step_model(model);
    Archive archive;
    for (const auto& [name, tensor] : one.model.saved_tensors()) archive.add(name, tensor);
    add_architecture(archive, one.model);
    EXPECT_EQ(to_tflite(lower(model_from_archive(archive))), to_tflite(lower(one.model)));
  }
}

TEST(StepModel, RefusesByName) {
  const auto expect_refused = [](Model& model, const std::vector<std::string>& parts) {
    model.build(1);
    expect_throws<InvalidArgument>([&] { static_cast<void>(step_model(model)); }, parts);
  };
  Model unbuilt("m");
  unbuilt.output(unbuilt.add(GRU(2), unbuilt.input({5, 2})));
  expect_throws<InvalidArgument>([&] { static_cast<void>(step_model(unbuilt)); },
                                 {"step_model", "\"m\"", "build()"});

  const auto in_front_of_gru = [&](auto layer, const std::vector<std::string>& parts) {
    Model model("m");
    const Value x = model.add(std::move(layer), model.input({5, 2}));
    model.output(model.add(GRU(2, {.return_sequences = true, .name = "memory"}), x));
    expect_refused(model, parts);
  };
  in_front_of_gru(Permute({2, 1}), {"Permute", "several steps"});
  in_front_of_gru(Conv1D(3, 3), {"\"memory\"", "2 steps of no full window", "causal"});
  in_front_of_gru(Conv1D(3, 5, Activation::none, {.padding = Padding::same, .name = "wide"}),
                  {"\"wide\"", "Conv1D", "looks 2 steps of time ahead", "2 steps later", "causal"});
  in_front_of_gru(AveragePool1D({.size = 3, .padding = Padding::same}), {"AveragePool1D", "ahead"});

  Model uneven("uneven");
  const Value read = uneven.input({6, 2});
  uneven.output(uneven.add(
      Add(), {uneven.add(Conv1D(2, 3, {}, {.stride = 2}), read), uneven.add(Conv1D(2, 5), read)}));
  expect_refused(uneven, {"Add", "do not keep step", "every 2 steps, 1 late", "every 1 steps, 4"});

  Model cell("cell");
  cell.output(cell.add(CellState("c"), cell.add(GRU(2), cell.input({5, 2}))));
  expect_throws<InvalidArgument>([&] { cell.build(1); }, {"CellState \"c\"", "LSTM"});

  Model learned("learned");
  learned.output(
      learned.add(Conv1D(2, 3, Activation::relu, {.padding = Padding::causal, .name = "wide"}),
                  learned.add(Dense(2), learned.input({5, 2}))));
  learned.build(1);
  learned = quantize_model(learned, {.activation_scales = Scales::lsq_plus});
  calibrate(learned, random_tensor({20, 5, 2}, 1));
  expect_throws<InvalidArgument>([&] { static_cast<void>(step_model(learned)); },
                                 {"wide", "scale is learned"});

  Model without("none");
  without.output(without.add(Dense(2), without.input({5, 2})));
  expect_refused(without, {"step_model", "\"none\"", "GRU"});

  Model given("given");
  Value x = given.input({5, 2});
  given.output(given.add(GRU(3, {.name = "memory"}), {x, given.input({3})}));
  expect_refused(given, {"step_model", "\"memory\"", "first state"});

  Model backwards("backwards");
  backwards.output(
      backwards.add(GRU(3, {.go_backwards = true, .name = "memory"}), backwards.input({5, 2})));
  expect_refused(backwards, {"step_model", "\"memory\"", "last step", "go_backwards"});

  Model masked("masked");
  x = masked.input({5, 2});
  masked.output(masked.add(GRU(3, {.masked = true, .name = "memory"}), {x, masked.input({5})}));
  expect_refused(masked, {"step_model", "\"memory\"", "mask", "RecurrentOptions::masked"});

  Model pools("pools");
  pools.output(pools.add(MaxPool1D({.size = 3, .stride = 1, .padding = Padding::same}),
                         pools.add(GRU(2, {.return_sequences = true}), pools.input({5, 2}))));
  pools.build(1);
  expect_throws<InvalidArgument>([&] { static_cast<void>(step_model(pools, {.delay = true})); },
                                 {"MaxPool1D", "ahead"});

  // Behind a convolution that looks ahead.
  const auto behind_wide = [&](auto layer, const std::vector<std::string>& parts) {
    Model ahead("ahead");
    Value y = ahead.add(GRU(2, {.return_sequences = true}), ahead.input({8, 2}));
    y = ahead.add(Conv1D(3, 3, Activation::none, {.padding = Padding::same}), y);
    y = ahead.add(Dense(4), y);
    ahead.output(ahead.add(std::move(layer), y));
    ahead.build(1);
    expect_throws<InvalidArgument>([&] { static_cast<void>(step_model(ahead, {.delay = true})); },
                                   parts);
  };
  behind_wide(GlobalAveragePool1D("mean"), {"\"mean\"", "last steps", "do not come", "causal"});
  behind_wide(Flatten(), {"Flatten", "last steps", "do not come"});
  behind_wide(Conv1D(2, 3, Activation::none, {.padding = Padding::same, .name = "second"}),
              {"\"second\"", "begins with zeros", "causal"});
  behind_wide(GRU(2, {.name = "memory"}), {"\"memory\"", "begins with zeros"});

  Model twice("twice");
  x = twice.input({5, 3});
  const Value once = twice.add(Dense(3, Activation::none, "dense"), x);
  twice.output(twice.add(GRU(2), twice.reuse(once, {once})));
  expect_refused(twice, {"step_model", "dense", "several times"});
}

TEST(StreamingInterpreter, RefusesStatesThatDoNotFit) {
  const StepModel one = step_model(small());
  const IntegerModel lowered = lower(one.model);
  const auto expect_refused = [&](const std::vector<CarriedState>& states,
                                  const std::string& part) {
    expect_throws<InvalidArgument>([&] { StreamingInterpreter refused(lowered, states); },
                                   {"StreamingInterpreter", part});
  };
  expect_refused({{1, 0}}, "\"memory_state\"");
  expect_refused({{2, 1}}, "input number 2");
  expect_refused({{1, 2}}, "output number 2");
  expect_refused({{1, 1}, {1, 1}}, "two states");
}

}  // namespace
}  // namespace octet::test::step_model_test
