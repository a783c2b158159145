#include <gtest/gtest.h>
#include <octet/core/archive.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/architecture.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/step_model.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/layers/quantize/random_streams.h>

#include <string>
#include <vector>

// What step_model() makes: its states, what of it is saved, and what it refuses.

namespace octet::test::step_model_test {
namespace {

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

TEST(StepModel, KnowsWhenTheSequenceHasBegun) {
  const StepModel one = step_model(waiting_stream(), {.delay = true});
  EXPECT_EQ(one.delays, std::vector<Index>{4});
  const auto shape_of = [&](std::string_view name) { return one.model.layer(name).output_shape(); };
  EXPECT_EQ(shape_of("second_begun_state"), (Shape{2, 1}));
  EXPECT_EQ(shape_of("memory_begun_state"), (Shape{4, 1}));
}

TEST(StepModel, IsSavedAndLoaded) {
  for (const Model& model : {small(), small_convolution(), waiting_stream()}) {
    const StepModel one = step_model(model, {.delay = true});
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
  in_front_of_gru(Conv1D(3, 5, Activation::none, {.padding = Padding::same, .name = "wide"}),
                  {"\"wide\"", "Conv1D", "looks 2 steps of time ahead", "2 steps later", "causal"});
  in_front_of_gru(AveragePool1D({.size = 3, .padding = Padding::same}), {"AveragePool1D", "ahead"});

  Model uneven("uneven");
  const Value read = uneven.input({6, 2});
  uneven.output(uneven.add(
      Add(), {uneven.add(Conv1D(2, 3, {}, {.stride = 2}), read), uneven.add(Conv1D(2, 5), read)}));
  expect_refused(uneven, {"Add", "do not keep step", "one step for 2 of", "and one for 1"});

  Model within("within");
  Value x = within.add(Conv1D(2, 2), within.input({8, 2}));
  x = within.add(GRU(3, {.return_sequences = true, .name = "memory"}), x);
  within.output(within.add(Conv1D(2, 2, {}, {.stride = 2}), x));
  expect_refused(within, {"\"memory\"", "2 steps in each call", "1 steps late", "multiple of 2"});

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
  x = given.input({5, 2});
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
  behind_wide(GRU(2, {.name = "memory"}), {"\"memory\"", "last steps", "do not come"});

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
