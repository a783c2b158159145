#include <gmock/gmock.h>
#include <octet/core/archive.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/architecture.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/step_model.h>
#include <octet/tests/core/draw.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/layers/quantize/random_sequences.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

// A network that goes through a sequence step by step computes what the network of the whole
// sequence does.

namespace octet::test::step_model_test {
namespace {

/// A random network of layers that compute each step alone and of GRUs, whose outputs are a
/// sequence and, of some, what a last GRU and a Dense make of it.
class RandomStream {
 public:
  explicit RandomStream(std::uint32_t seed) : random_(seed), model_("stream") {
    steps_ = random_.integer(1, 7);
    features_ = random_.integer(1, 9);
    Value x = model_.input({steps_, features_}, "x");
    for (int i = random_.integer(1, 3); i > 0; --i) x = layer(x);
    x = model_.add(GRU(random_.integer(1, 9), {.return_sequences = true}), x);
    const bool gives_state = random_.integer(0, 1) == 1;
    model_.output(gives_state ? x : model_.add(Dense(random_.integer(1, 5)), x));
    if (random_.integer(0, 1) == 1) {
      const Value last = model_.add(GRU(random_.integer(1, 9)), x);
      model_.output(model_.add(Dense(random_.integer(1, 5), Activation::softmax), last));
    }
    model_.build(seed);
    for (auto& [name, tensor] : model_.parameters()) {
      if (!name.ends_with("bias")) continue;
      for (float& value : tensor.mutable_span()) value = random_.positive(0.1F, 1.0F) - 0.3F;
    }
  }

  const Model& model() const { return model_; }
  Index steps() const { return steps_; }
  Tensor batch(Index size) {
    return Tensor::uniform({size, steps_, features_}, Random(random_.bits()),
                           -random_.positive(0.1F, 3.0F), random_.positive(0.1F, 3.0F));
  }

 private:
  Value layer(const Value& x) {
    const Index units = random_.integer(1, 9);
    switch (random_.integer(0, 6)) {
      case 0:
        return model_.add(Dense(units, Activation::relu), x);
      case 6:
        return model_.add(SimpleRNN(units, {.return_sequences = true}), x);
      case 1:
        return model_.add(Conv1D(units, 1, Activation::relu6), x);
      case 2:
        return model_.add(GRU(units, {.return_sequences = true}), x);
      case 3:
        return model_.add(Concatenate(), {model_.add(Dense(units, Activation::sigmoid), x),
                                          model_.add(GRU(units, {.return_sequences = true}), x)});
      case 4: {
        const Value y = model_.add(Dense(units), x);
        return model_.add(Add(), {y, model_.add(LeakyReLU(0.2F), y)});
      }
      default:
        return model_.add(Dropout(0.1F), model_.add(BatchNorm(), x));
    }
  }

  PortableRandom random_;
  Model model_;
  Index steps_;
  Index features_ = 0;
};

/// The bytes of step `t` of an output that is a sequence of `steps`.
std::vector<std::byte> at_step(std::span<const std::byte> sequence, Index t, Index steps) {
  const std::size_t size = sequence.size() / static_cast<std::size_t>(steps);
  const auto part = sequence.subspan(static_cast<std::size_t>(t) * size, size);
  return {part.begin(), part.end()};
}

/// Runs one sequence in one model and step by step in the other: outputs are the same bytes, those
/// of a sequence at each step, and others behind the last.
void expect_same(const IntegerModel& whole, const IntegerModel& one,
                 const std::vector<CarriedState>& states, Index steps, std::uint64_t seed) {
  Interpreter interpreter(whole);
  StreamingInterpreter stream(one, states);
  Draw draw(seed);
  for (int sequence = 0; sequence < 3; ++sequence) {
    const std::span<std::byte> input = interpreter.input_bytes();
    std::vector<std::byte> drawn(input.size());
    if (whole.tensors[static_cast<std::size_t>(whole.inputs[0])].dtype == DType::float32) {
      std::vector<float> values(drawn.size() / sizeof(float));
      for (float& v : values) v = static_cast<float>(draw.between(-300, 300)) / 100.0F;
      std::ranges::copy(std::as_bytes(std::span(values)), drawn.begin());
    } else {
      for (std::byte& b : drawn) b = static_cast<std::byte>(draw.between(-128, 127));
    }
    std::ranges::copy(drawn, input.begin());
    interpreter.invoke();
    stream.reset();
    for (Index t = 0; t < steps; ++t) {
      std::ranges::copy(at_step(drawn, t, steps), stream.interpreter().input_bytes().begin());
      stream.step();
      ASSERT_THAT(stream.interpreter().output_bytes(),
                  ::testing::ElementsAreArray(at_step(interpreter.output_bytes(), t, steps)))
          << "step " << t;
    }
    for (std::size_t i = 1; i < whole.outputs.size(); ++i) {
      ASSERT_THAT(stream.interpreter().output_bytes(i),
                  ::testing::ElementsAreArray(interpreter.output_bytes(i)));
    }
  }
}

class StepModelEquality : public testing::TestWithParam<Rounding> {};

TEST_P(StepModelEquality, OfRandomNetworks) {
  for (std::uint32_t seed = 0; seed < 70; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStream net(seed);
    Model model = quantize_model(net.model(), {.rounding = GetParam()});
    calibrate(model, net.batch(17));
    const StepModel one = step_model(model);
    expect_same(lower(model), lower(one.model), one.states, net.steps(), seed);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Contracts, StepModelEquality, ::testing::ValuesIn(kContracts),
                         contract_name);

TEST(StepModel, OfAFloatNetworkComputesTheSame) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomStream net(seed);
    const StepModel one = step_model(net.model());
    expect_same(lower_float(net.model()), lower_float(one.model), one.states, net.steps(), seed);
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

TEST(StepModel, IsSavedAndLoaded) {
  const StepModel one = step_model(small());
  Archive archive;
  for (const auto& [name, tensor] : one.model.saved_tensors()) archive.add(name, tensor);
  add_architecture(archive, one.model);
  EXPECT_EQ(to_tflite(lower(model_from_archive(archive))), to_tflite(lower(one.model)));
}

TEST(StepModel, RefusesByName) {
  const auto expect_refused = [](Model& model, const std::vector<std::string>& parts) {
    model.build(1);
    expect_throws<InvalidArgument>([&] { static_cast<void>(step_model(model)); }, parts);
  };
  Model several("m");
  Value x = several.input({5, 2});
  x = several.add(Conv1D(3, 3, Activation::none, {.name = "wide"}), x);
  several.output(several.add(GRU(2), x));
  expect_throws<InvalidArgument>([&] { static_cast<void>(step_model(several)); },
                                 {"step_model", "\"m\"", "build()"});
  expect_refused(several, {"step_model", "\"wide\"", "Conv1D", "several steps"});

  Model two_states("two");
  two_states.output(two_states.add(LSTM(2, {.name = "long"}), two_states.input({5, 2})));
  expect_refused(two_states, {"step_model", "\"long\"", "LSTM", "more than one state"});

  Model without("none");
  without.output(without.add(Dense(2), without.input({5, 2})));
  expect_refused(without, {"step_model", "\"none\"", "GRU"});

  Model given("given");
  x = given.input({5, 2});
  given.output(given.add(GRU(3, {.name = "memory"}), {x, given.input({3})}));
  expect_refused(given, {"step_model", "\"memory\"", "first state"});

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
