// Graphs with forks: every operand keeps its memory until the last operator that reads it has run.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/runtime/execute.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/runtime/naive_graph.h>

namespace octet::test::graph_test {
namespace {

using Codes = std::vector<std::int8_t>;

DenseSpec square(std::int32_t units) {
  return {.units = units, .output_scale = 0.07F, .output_zero_point = -3};
}

/// a = dense(x), c = dense(dense(a)), y = dense(c + a): a waits while two others are made.
IntegerModel make_residual() {
  Draw draw(1);
  RawModelBuilder b;
  const std::int32_t x = b.activation("x", {1, 24}, DType::int8, quant(0.05F, 4));
  b.model.inputs = {x};
  const std::int32_t a = add_dense(b, x, square(24), draw);
  const std::int32_t c = add_dense(b, add_dense(b, a, square(24), draw), square(24), draw);
  const std::int32_t y = add_add(b, c, a, quant(0.1F, 9), FusedActivation::relu);
  b.model.outputs = {add_dense(b, y, square(24), draw)};
  return b.model;
}

/// Two branches of different length from one value, and from the input, put together.
IntegerModel make_diamond() {
  Draw draw(2);
  RawModelBuilder b;
  const QuantParams grid = quant(0.07F, -3);
  const std::int32_t x = b.activation("x", {1, 20}, DType::int8, grid);
  b.model.inputs = {x};
  const std::int32_t a = add_dense(b, x, square(20), draw);
  const std::int32_t left = add_dense(b, a, square(7), draw);
  const std::int32_t right = add_dense(
      b, add_dense(b, add_dense(b, a, square(20), draw), square(20), draw), square(9), draw);
  const std::int32_t all = add_concatenation(b, {right, left, x, a});
  b.model.outputs = {add_dense(b, all, square(5), draw)};
  return b.model;
}

std::vector<Codes> draw_inputs(const IntegerModel& model, std::size_t samples, Draw& draw) {
  std::vector<Codes> inputs;
  for (const std::int32_t i : model.inputs) {
    const auto size = static_cast<std::size_t>(model.tensors[static_cast<std::size_t>(i)].size());
    inputs.push_back(random_codes(samples * size, draw));
  }
  return inputs;
}

/// Sample `i` of values laid end to end.
Codes sample_of(const Codes& values, std::size_t i, std::size_t samples) {
  const auto size = static_cast<std::ptrdiff_t>(values.size() / samples);
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(i) * size;
  return {first, first + size};
}

/// What the model's outputs are, sample by sample with the oracle.
std::vector<Codes> expected_outputs(const IntegerModel& model, const std::vector<Codes>& inputs,
                                    std::size_t samples, Rounding rounding) {
  std::vector<Codes> outputs(model.outputs.size());
  for (std::size_t i = 0; i < samples; ++i) {
    std::vector<Codes> one;
    one.reserve(inputs.size());
    for (const Codes& input : inputs) one.push_back(sample_of(input, i, samples));
    const auto values = naive_run(model, one, rounding);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const Codes& y = values[static_cast<std::size_t>(model.outputs[k])];
      outputs[k].insert(outputs[k].end(), y.begin(), y.end());
    }
  }
  return outputs;
}

std::vector<Codes> interpret(const IntegerModel& model, const std::vector<Codes>& inputs,
                             std::size_t samples, Rounding rounding, bool keep_tensors) {
  Interpreter interpreter(
      model,
      {.rounding = rounding, .batch = static_cast<Index>(samples), .keep_tensors = keep_tensors});
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::ranges::copy(inputs[i], interpreter.input<std::int8_t>(i).begin());
  }
  interpreter.invoke();
  std::vector<Codes> outputs;
  for (std::size_t i = 0; i < model.outputs.size(); ++i) {
    outputs.push_back(copy(std::as_const(interpreter).output<std::int8_t>(i)));
  }
  return outputs;
}

void expect_oracle(const IntegerModel& model, std::size_t samples, std::uint64_t seed) {
  Draw draw(seed);
  const auto inputs = draw_inputs(model, samples, draw);
  for (const Rounding rounding : kContracts) {
    const auto expected = expected_outputs(model, inputs, samples, rounding);
    EXPECT_EQ(interpret(model, inputs, samples, rounding, true), expected) << "kept " << seed;
    EXPECT_EQ(interpret(model, inputs, samples, rounding, false), expected) << "planned " << seed;
  }
}

TEST(Graph, AResidualOperandOutlivesWhatIsComputedInBetween) {
  expect_oracle(make_residual(), 1, 3);
  expect_oracle(make_residual(), 70, 4);
}

TEST(Graph, ADiamondKeepsBothBranches) {
  expect_oracle(make_diamond(), 1, 5);
  expect_oracle(make_diamond(), 70, 6);
}

TEST(Graph, RandomGraphsAreThoseOfTheOracle) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    expect_oracle(draw_graph(seed, seed % 2 == 0), seed % 3 == 0 ? 40 : 1, seed);
  }
}

// More samples than one block, and a lane of blocks for each thread.
TEST(Graph, BlocksAndLanesOfGraphsAreThoseOfTheOracle) {
  const KeepThreads keep;
  constexpr std::size_t kSamples = 1301;
  std::vector<IntegerModel> models = {make_diamond(), make_far_scales()};
  for (std::uint64_t seed = 200; seed < 204; ++seed) models.push_back(draw_graph(seed, true));
  for (const IntegerModel& model : models) {
    Draw draw(17);
    const auto inputs = draw_inputs(model, kSamples, draw);
    const auto expected = expected_outputs(model, inputs, kSamples, Rounding::fp32);
    for (const int threads : {1, 2, 3}) {
      set_num_threads(threads);
      EXPECT_EQ(interpret(model, inputs, kSamples, Rounding::fp32, false), expected)
          << threads << " threads";
    }
  }
}

TEST(Graph, PlannedMemoryIsLessThanAllOfIt) {
  const IntegerModel model = make_diamond();
  const Interpreter planned(model);
  const Interpreter kept(model, {.keep_tensors = true});
  EXPECT_LT(planned.arena_bytes(), kept.arena_bytes());
}

TEST(Graph, AnInputReadLateIsNotOverwritten) {
  // x is read first and last.
  Draw draw(11);
  RawModelBuilder b;
  const std::int32_t x = b.activation("x", {1, 33}, DType::int8, quant(0.05F, 4));
  b.model.inputs = {x};
  std::int32_t y = x;
  for (int i = 0; i < 4; ++i) y = add_dense(b, y, square(33), draw);
  b.model.outputs = {add_add(b, y, x, quant(0.1F, 0))};
  expect_oracle(b.model, 1, 12);
  expect_oracle(b.model, 40, 12);
}

TEST(Graph, SeveralOutputsStay) {
  Draw draw(13);
  RawModelBuilder b;
  const std::int32_t x = b.activation("x", {1, 16}, DType::int8, quant(0.05F, 4));
  b.model.inputs = {x};
  const std::int32_t first = add_dense(b, x, square(16), draw);
  const std::int32_t second = add_dense(b, first, square(16), draw);
  const std::int32_t third = add_dense(b, second, square(16), draw);
  b.model.outputs = {first, third};
  expect_oracle(b.model, 1, 14);
  expect_oracle(b.model, 100, 14);
}

TEST(Graph, AConstantOperandServesEverySample) {
  for (const bool constant_first : {false, true}) {
    Draw draw(15);
    RawModelBuilder b;
    const QuantParams grid = quant(0.05F, 4);
    const std::int32_t x = b.activation("x", {1, 19}, DType::int8, grid);
    b.model.inputs = {x};
    const std::int32_t c = b.constant("c", {1, 19}, DType::int8, random_codes(19, draw), grid);
    const std::int32_t sum = constant_first ? add_add(b, c, x, grid) : add_add(b, x, c, grid);
    // What constants alone give is computed once.
    const std::int32_t twice = add_add(b, c, c, grid);
    b.model.outputs = {add_concatenation(b, {sum, twice, c})};
    expect_oracle(b.model, 1, 16);
    expect_oracle(b.model, 77, 16);
  }
}

TEST(Graph, ManyInputsAreLaidEndToEnd) {
  constexpr std::size_t kInputs = 60000;
  RawModelBuilder b;
  const QuantParams grid = quant(0.05F, 4);
  for (std::size_t i = 0; i < kInputs; ++i) {
    b.model.inputs.push_back(b.activation("", {1, 1}, DType::int8, grid));
  }
  b.model.outputs = {add_add(b, 0, kInputs - 1, grid)};
  Interpreter interpreter(b.model);
  // Had a place been searched for, the output would lie where an input did that nobody reads.
  EXPECT_EQ(interpreter.arena_bytes(), 64 * (kInputs + 1));
  interpreter.input<std::int8_t>(0)[0] = 10;
  interpreter.input<std::int8_t>(kInputs - 1)[0] = 20;
  interpreter.invoke();
  EXPECT_EQ(interpreter.output<std::int8_t>()[0], 26);
}

// ---- PreparedOperators

TEST(PreparedOperators, ComputesWhatTheInterpreterDoes) {
  for (std::uint64_t seed = 100; seed < 110; ++seed) {
    const IntegerModel model = draw_graph(seed, true);
    Draw draw(seed);
    const auto inputs = draw_inputs(model, 5, draw);
    std::vector<const std::byte*> from;
    from.reserve(inputs.size());
    for (const Codes& codes : inputs) from.push_back(std::as_bytes(std::span(codes)).data());
    auto expected = interpret(model, inputs, 5, Rounding::double_rounding, false);
    std::vector<Codes> outputs = expected;
    std::vector<std::byte*> to;
    for (Codes& codes : outputs) {
      std::ranges::fill(codes, std::int8_t{77});
      to.push_back(std::as_writable_bytes(std::span(codes)).data());
    }
    PreparedOperators(model, Rounding::double_rounding).run(5, from, to);
    EXPECT_EQ(outputs, expected);
  }
}

TEST(PreparedOperators, RefusesOtherEnds) {
  const IntegerModel model = make_residual();
  std::vector<std::byte> memory(24);
  const std::vector<const std::byte*> in = {memory.data()};
  const std::vector<std::byte*> out = {memory.data()};
  EXPECT_THROW(PreparedOperators(model, Rounding::fp32).run(1, {}, out), InvalidArgument);
  EXPECT_THROW(PreparedOperators(model, Rounding::fp32).run(1, in, {}), InvalidArgument);
  EXPECT_THROW(PreparedOperators(model, Rounding::fp32).run(0, in, out), InvalidArgument);
  const std::vector<const std::byte*> null = {nullptr};
  EXPECT_THROW(PreparedOperators(model, Rounding::fp32).run(1, null, out), InvalidArgument);
  IntegerModel same = model;
  same.outputs = same.inputs;
  EXPECT_THROW(PreparedOperators(same, Rounding::fp32).run(1, in, out), InvalidArgument);
}

}  // namespace
}  // namespace octet::test::graph_test
