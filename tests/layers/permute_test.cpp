#include <octet/core/ops/ops.h>
#include <octet/layers/lower.h>
#include <octet/layers/model.h>
#include <octet/layers/permute.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/layers/layer_testing.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace octet::test::permute_test {
namespace {

TEST(Permute, PutsAxesInAnotherOrder) {
  const auto layer = built(Permute({3, 1, 2}), {2, 1, 3});
  EXPECT_EQ(layer->output_shape(), (Shape{3, 2, 1}));
  const Tensor x = Tensor::arange(12).reshape({2, 2, 1, 3});
  expect_tensor(layer->forward(x, {}), {2, 3, 2, 1}, {0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11});
  const auto same = built(Permute({1, 2}), {2, 3});
  expect_tensor(same->forward(x.reshape({2, 2, 3}), {}), {2, 2, 3}, values_of(x));
}

TEST(Permute, PassesTheGradientBack) {
  for (const auto& [examples, axes] : std::vector<std::pair<Shape, std::vector<Index>>>{
           {{3, 2}, {2, 1}}, {{3, 1, 2}, {3, 1, 2}}, {{2, 3, 1, 2}, {3, 1, 4, 2}}}) {
    const auto layer = built(Permute(axes), examples);
    expect_gradient([&](const std::vector<Tensor>& in) { return tanh(layer->forward(in[0], {})); },
                    {random_tensor(examples.with_batch(2), 1)});
  }
}

// TRANSPOSE moves five axes at most, the batch one of them.
TEST(Permute, OfMoreAxesThanTransposeMovesTrainsAsItsIntegersCompute) {
  struct Case {
    Shape examples;
    std::vector<Index> axes;
    int transpositions;
  };
  for (const auto& [examples, axes, transpositions] :
       std::vector<Case>{{{1, 2, 3, 4, 5}, {4, 2, 5, 3, 1}, 1},
                         {{2, 3, 2, 4, 3}, {4, 1, 5, 2, 3}, 1},
                         {{2, 3, 2, 4, 3}, {4, 2, 5, 3, 1}, 4},
                         {{2, 3, 2, 4, 3, 2}, {2, 1, 4, 3, 6, 5}, 3},
                         {{1, 2, 1, 1, 3}, {3, 2, 4, 1, 5}, 0}}) {
    Model model("permute");
    model.output(model.add(Permute(axes), model.input(examples)));
    model.build();
    std::vector<Index> counted = {0};
    counted.insert(counted.end(), axes.begin(), axes.end());
    const Tensor x = random_tensor(examples.with_batch(3), 4);
    const Tensor expected = permute(x, counted);
    const Tensor y = model.forward(x);
    expect_tensor(y, expected.shape(), values_of(expected));
    Model quantized = quantize_model(model);
    quantized.forward(x, {.mode = ForwardContext::Mode::calibration});
    const IntegerModel integers = lower(quantized);
    EXPECT_EQ(std::ranges::count(integers.operators, OpCode::transpose, &Operator::code),
              transpositions);
    EXPECT_EQ(Interpreter(integers).run(x.span()), values_of(quantized.forward(x)));
  }
}

TEST(Permute, RefusesWhatIsNoOrderOfTheAxes) {
  for (const std::vector<Index>& axes :
       std::vector<std::vector<Index>>{{1}, {1, 1}, {0, 1}, {1, 3}, {1, 2, 3}, {}, {-1, 1}}) {
    expect_error(
        [&] {
          built(Permute(axes, "p"), {2, 3});
        },
        "Permute \"p\": expected each of the axes 1 to 2 of examples [2, 3] once, found " +
            Shape(axes).to_string());
  }
}

}  // namespace
}  // namespace octet::test::permute_test
