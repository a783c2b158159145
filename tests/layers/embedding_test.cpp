#include <octet/core/ops/ops.h>
#include <octet/layers/activation.h>
#include <octet/layers/concatenate.h>
#include <octet/layers/dense.h>
#include <octet/layers/embedding.h>
#include <octet/layers/lower.h>
#include <octet/layers/model.h>
#include <octet/layers/permute.h>
#include <octet/layers/pool1d.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/reshape.h>
#include <octet/layers/slice.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/layers/layer_testing.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace octet::test::embedding_test {
namespace {

/// `examples` of `steps` indices below `rows`, drawn.
Tensor indices(Index examples, Index steps, Index rows, std::uint64_t seed) {
  Tensor x = Tensor::uniform({examples, steps}, Random(seed), 0.0F, static_cast<float>(rows));
  for (float& index : x.mutable_span()) {
    index = std::min(std::floor(index), static_cast<float>(rows - 1));
  }
  return x;
}

TEST(Embedding, LooksUpRowsAndGivesThoseAloneGradients) {
  const auto layer = built(Embedding(4, 3), {6});
  EXPECT_EQ(layer->output_shape(), (Shape{6, 3}));
  Tensor table = layer->parameters().front().tensor;
  ASSERT_EQ(table.shape(), (Shape{4, 3}));
  const std::vector<float> named = {2, 0, 2, 3, 2.9F, -0.5F};
  const Tensor x = Tensor::from({1, 6}, named);
  const Tensor y = layer->forward(x, {});
  for (std::size_t i = 0; i < 18; ++i) {
    const auto row = static_cast<std::size_t>(named[i / 3]);
    EXPECT_EQ(y.span()[i], table.span()[row * 3 + i % 3]);
  }
  sum(square(y)).backward();
  const std::vector<float> times = {2, 0, 3, 1};
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_FLOAT_EQ(table.grad().span()[i], 2.0F * times[i / 3] * table.span()[i]) << i;
  }
  table.set_requires_grad(false);
  EXPECT_FALSE(layer->forward(x, training()).requires_grad());
}

TEST(Embedding, RefusesWhatItHasNoRowFor) {
  const auto layer = built(Embedding(4, 3, "words"), {2});
  for (const float index : {-1.0F, 4.0F, 1e20F, std::nanf("")}) {
    expect_error(
        [&] {
          layer->forward(Tensor::from({1, 2}, {3.0F, index}), {});
        },
        "layer \"words\" of type Embedding: expected indices from 0 to 3, found ");
  }
  expect_error([] { Embedding(0, 3, "words"); },
               "Embedding \"words\": expected at least one index and one feature, found 0 and 3");
}

/// The mean of vectors, classified.
Model classifier() {
  Model model("words");
  Value x = model.add(Embedding(20, 6), model.input({7}));
  x = model.add(Dense(3), model.add(GlobalAveragePool1D(), x));
  model.output(x);
  model.build(1);
  return model;
}

TEST(Embedding, TrainsAsItsIntegersCompute) {
  Model quantized = quantize_model(classifier());
  quantized.forward(indices(8, 7, 20, 1), {.mode = ForwardContext::Mode::calibration});
  for (std::uint64_t step = 0; step < 3; ++step) {
    quantized.zero_grad();
    mean(square(quantized.forward(indices(4, 7, 20, 2 + step),
                                  {.mode = ForwardContext::Mode::training})))
        .backward();
    for (auto& [name, tensor] : quantized.parameters()) {
      if (!tensor.grad().defined()) continue;
      for (std::size_t i = 0; i < tensor.span().size(); ++i) {
        tensor.mutable_span()[i] -= 0.1F * tensor.grad().span()[i];
      }
    }
  }
  const IntegerModel integers = lower(quantized);
  const auto gather = std::ranges::find(integers.operators, OpCode::gather, &Operator::code);
  ASSERT_NE(gather, integers.operators.end());
  EXPECT_EQ(integers.tensors[static_cast<std::size_t>(gather->outputs[0])].dtype, DType::int8);
  const Tensor x = indices(1, 7, 20, 9);
  EXPECT_EQ(Interpreter(integers).run(x.span()), values_of(quantized.forward(x)));
}

TEST(Embedding, SharesNoInputWithLayersThatComputeWithIt) {
  Model model("m");
  const Value x = model.input({7}, "x");
  model.output(model.add(Embedding(20, 6), x));
  model.output(model.add(Dense(3, Activation::none, "dense"), x));
  model.build();
  expect_error([&] { quantize_model(model); },
               "expected layers that look up indices alone to read input \"x\", found \"dense\"");
}

/// Layers between an input of examples `input` and an Embedding of 7 indices.
struct Movers {
  std::string name;
  Shape input;
  std::function<Value(Model&, const Value&)> move;
};

const std::vector<Movers>& movers() {
  static const std::vector<Movers> all = {
      {"None", {7}, [](Model&, const Value& x) { return x; }},
      {"Reshape", {7, 1}, [](Model& m, const Value& x) { return m.add(Reshape({7}), x); }},
      {"Slice",
       {7, 2},
       [](Model& m, const Value& x) {
         return m.add(Reshape({7}), m.add(Slice({.axis = 1, .begin = 1}), x));
       }},
      {"Permute",
       {7, 2},
       [](Model& m, const Value& x) {
         const Value rows = m.add(Permute({2, 1}), x);
         return m.add(Flatten(), m.add(Slice({.axis = 0, .begin = 0}), rows));
       }},
      {"Concatenate", {7}, [](Model& m, const Value& x) {
         return m.add(Concatenate(), {m.add(Slice({.begin = 5, .size = 2}), x),
                                      m.add(Slice({.begin = 0, .size = 5}), x)});
       }}};
  return all;
}

class MovedIndices : public ::testing::TestWithParam<Movers> {};

INSTANTIATE_TEST_SUITE_P(All, MovedIndices, ::testing::ValuesIn(movers()),
                         [](const auto& test) { return test.param.name; });

TEST_P(MovedIndices, NameTheRowsOfTheFloatModel) {
  Model model("words");
  model.output(
      model.add(Embedding(300, 6, "table"), GetParam().move(model, model.input(GetParam().input))));
  model.build(1);
  Model quantized = quantize_model(model);
  Tensor x = indices(4, GetParam().input.size(), 300, 1);
  x.mutable_span()[0] = -0.5F;
  x.mutable_span()[1] = 2.9F;
  x = x.reshape(GetParam().input.with_batch(4));
  quantized.forward(x, calibration());
  const Tensor expected = model.forward(x);
  const Tensor found = quantized.forward(x);
  const float step = found.quantization()->scale();
  ASSERT_LT(step, 0.001F);
  for (std::size_t i = 0; i < expected.span().size(); ++i) {
    ASSERT_NEAR(found.span()[i], expected.span()[i], step) << i;
  }
  const Tensor one = x.reshape({4, -1});
  EXPECT_EQ(Interpreter(lower(quantized)).run(one.span().first(one.span().size() / 4)),
            std::vector<float>(found.span().begin(), found.span().begin() + 42));
}

TEST(Embedding, RefusesIndicesThatWouldBeQuantized) {
  const auto expect_refused = [](const std::function<Value(Model&, const Value&)>& move,
                                 const std::string& message) {
    Model model("m");
    model.output(model.add(Embedding(20, 6), move(model, model.input({7, 2}, "x"))));
    model.build();
    expect_error([&] { quantize_model(model); }, message);
  };
  expect_refused([](Model& m, const Value& x) { return m.add(ReLU("clamp"), x); },
                 "by way of layers that move them and are used once, found \"clamp\" of type ReLU");
  expect_refused(
      [](Model& m, const Value& x) {
        m.output(m.add(Dense(3, Activation::none, "dense"), m.add(Slice({.name = "other"}), x)));
        return m.add(Slice({.name = "mine"}), x);
      },
      "look up indices alone to read input \"x\", found \"other\" of type Slice");
  expect_refused(
      [](Model& m, const Value& x) {
        const Value mine = m.add(Slice({.name = "mine"}), x);
        m.output(m.add(Dense(3, Activation::none, "dense"), mine));
        return mine;
      },
      "look up indices alone to read layer \"mine\", found \"dense\" of type Dense");
}

}  // namespace
}  // namespace octet::test::embedding_test
