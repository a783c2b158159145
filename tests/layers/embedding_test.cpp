#include <octet/core/ops/ops.h>
#include <octet/layers/dense.h>
#include <octet/layers/embedding.h>
#include <octet/layers/lower.h>
#include <octet/layers/model.h>
#include <octet/layers/pool1d.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/layers/layer_testing.h>

#include <algorithm>
#include <cmath>

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
  const auto layer = built(Embedding(4, 3), {5});
  EXPECT_EQ(layer->output_shape(), (Shape{5, 3}));
  Tensor table = layer->parameters().front().tensor;
  ASSERT_EQ(table.shape(), (Shape{4, 3}));
  const std::vector<float> named = {2, 0, 2, 3, 2.9F};
  const Tensor y = layer->forward(Tensor::from({1, 5}, named), {});
  for (std::size_t i = 0; i < 15; ++i) {
    const auto row = static_cast<std::size_t>(named[i / 3]);
    EXPECT_EQ(y.span()[i], table.span()[row * 3 + i % 3]);
  }
  sum(square(y)).backward();
  const std::vector<float> times = {1, 0, 3, 1};
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_FLOAT_EQ(table.grad().span()[i], 2.0F * times[i / 3] * table.span()[i]) << i;
  }
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

}  // namespace
}  // namespace octet::test::embedding_test
