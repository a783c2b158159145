#include <octet/layers/input.h>
#include <octet/tests/layers/layer_testing.h>

namespace octet::test::input_test {
namespace {

TEST(InputLayer, PassesABatchOfItsExamplesOn) {
  const auto layer = built(Input({2, 3}), {2, 3});
  const Tensor x = random_tensor({4, 2, 3}, 1);
  expect_tensor(layer->forward(x, {}), {4, 2, 3}, values_of(x));
  EXPECT_EQ(layer->forward(Tensor::zeros({0, 2, 3}), {}).dim(0), 0);
  EXPECT_EQ(layer->output_shape(), (Shape{2, 3}));
  EXPECT_EQ(dynamic_cast<const InputLayer&>(*layer).example_shape(), (Shape{2, 3}));
}

TEST(InputLayer, RefusesExamplesOfAnotherShape) {
  const auto layer = built(Input({2, 3}, "pixels"), {2, 3});
  for (const Shape& shape :
       {Shape{4, 3, 2}, Shape{4, 6}, Shape{2, 3}, Shape{4, 2, 3, 1}, Shape{}}) {
    expect_error([&] { layer->forward(Tensor::zeros(shape), {}); }, "pixels");
  }
  expect_error([&] { layer->forward(Tensor::zeros({4, 3, 2}), {}); }, "[4, 3, 2]");
}

TEST(InputLayer, RefusesExamplesOfNothing) {
  expect_error([] { built(Input({4, 0}), {4, 0}); }, "[4, 0]");
  EXPECT_THROW(built(Input({-1}), {-1}), InvalidArgument);
}

TEST(InputLayer, BelongsInFront) {
  expect_error([] { Sequential("m", Input({4}), Dense(3), Input({5}, "second")); },
               "found \"second\", one behind \"dense\"");
}

}  // namespace
}  // namespace octet::test::input_test
