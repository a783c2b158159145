#include <octet/core/ops/ops.h>
#include <octet/layers/layers.h>
#include <octet/tests/layers/layer_testing.h>

#include <array>
#include <vector>

// Layers that cut, pad and repeat steps, Dot, and dropout of channels.

namespace octet::test::sequence_shapes_test {
namespace {

TEST(Cropping, CutsStepsAndPixels) {
  const Tensor x = Tensor::arange(12).reshape({1, 4, 3});
  const auto steps = built(Cropping1D(1, 2), {4, 3});
  expect_tensor(steps->forward(x, {}), {1, 1, 3}, {3, 4, 5});
  const Tensor image = Tensor::arange(12).reshape({1, 3, 4, 1});
  const auto pixels = built(Cropping2D({.bottom = 1, .left = 2, .right = 1}), {3, 4, 1});
  expect_tensor(pixels->forward(image, {}), {1, 2, 1, 1}, {2, 6});
  expect_made_again(*steps);
  expect_made_again(*pixels);
}

TEST(Cropping, RefusesToLeaveNothing) {
  const std::string expected =
      "Cropping1D \"c\": expected to cut off 0 or more of 4 elements, and to leave at least 1, "
      "found ";
  expect_error([] { built(Cropping1D(2, 2, "c"), {4, 3}); }, expected + "2 and 2");
  expect_error([] { built(Cropping1D(-1, 2, "c"), {4, 3}); }, expected + "-1 and 2");
  EXPECT_THROW(built(Cropping2D({.top = 3}), {3, 4, 1}), InvalidArgument);
  EXPECT_THROW(built(Cropping2D({.top = 1}), {3, 4}), InvalidArgument);
}

TEST(RepeatVector, RepeatsAtEveryStep) {
  const auto layer = built(RepeatVector(3), {2});
  const Tensor x = Tensor::from({2, 2}, {1, 2, 3, 4});
  expect_tensor(layer->forward(x, {}), {2, 3, 2}, {1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4});
  expect_gradient([&](const std::vector<Tensor>& in) { return tanh(layer->forward(in[0], {})); },
                  {random_tensor({3, 2}, 1)});
  expect_made_again(*layer);
  EXPECT_THROW(RepeatVector(0), InvalidArgument);
  expect_error(
      [] {
        built(RepeatVector(2, "r"), {2, 3});
      },
      "RepeatVector \"r\": expected examples [features], found [2, 3]");
}

TEST(ZeroPadding1D, PadsSteps) {
  const auto layer = built(ZeroPadding1D(1, 2), {2, 2});
  const Tensor x = Tensor::from({1, 2, 2}, {1, 2, 3, 4});
  expect_tensor(layer->forward(x, {}), {1, 5, 2}, {0, 0, 1, 2, 3, 4, 0, 0, 0, 0});
  expect_gradient([&](const std::vector<Tensor>& in) { return tanh(layer->forward(in[0], {})); },
                  {random_tensor({3, 2, 2}, 1)});
  expect_made_again(*layer);
  EXPECT_THROW(built(ZeroPadding1D(-1, 0), {2, 2}), InvalidArgument);
  EXPECT_THROW(built(ZeroPadding1D(1, 0), {2}), InvalidArgument);
}

TEST(UpSampling1D, RepeatsSteps) {
  const auto layer = built(UpSampling1D(2), {2, 2});
  const Tensor x = Tensor::from({1, 2, 2}, {1, 2, 3, 4});
  expect_tensor(layer->forward(x, {}), {1, 4, 2}, {1, 2, 1, 2, 3, 4, 3, 4});
  expect_made_again(*layer);
  EXPECT_THROW(built(UpSampling1D(0), {2, 2}), InvalidArgument);
}

TEST(Dot, MultipliesVectorsAlongItsAxes) {
  const Tensor a = Tensor::from({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor b = Tensor::from({1, 2, 3}, {1, 0, 2, -1, 1, 3});
  const auto products = [](auto layer, const Tensor& x, const Tensor& y) {
    const std::array shapes = {x.shape().without_batch(), y.shape().without_batch()};
    layer.build_all(shapes, Random(1));
    expect_made_again(layer);
    const std::array inputs = {x, y};
    const Tensor result = layer.forward_all(inputs, {});
    EXPECT_EQ(result.shape().without_batch(), layer.output_shape());
    expect_gradient([&](const std::vector<Tensor>& in) { return tanh(layer.forward_all(in, {})); },
                    {random_tensor(x.shape(), 1), random_tensor(y.shape(), 2)});
    return result;
  };
  expect_tensor(products(Dot(), a, b), {1, 2, 2}, {7, 10, 16, 19});
  expect_tensor(products(Dot({1, 1}), a, b), {1, 3, 3}, {-3, 4, 14, -3, 5, 19, -3, 6, 24});
  expect_tensor(products(Dot({2, 1}), a, b.reshape({1, 3, 2})), {1, 2, 2}, {8, 7, 20, 13});
  const Tensor row = Tensor::from({1, 3}, {1, -1, 2});
  expect_tensor(products(Dot(), row, row), {1, 1}, {6});
  expect_tensor(products(Dot({2, 1}), a, row), {1, 2}, {5, 11});
  expect_tensor(products(Dot({1, 2}), row, b), {1, 2}, {5, 4});
  const Tensor c = b.reshape({1, 3, 2});
  expect_tensor(products(MatMul(), a, c), {1, 2, 2}, {8, 7, 20, 13});
  expect_tensor(products(MatMul({.transpose_second = true}), a, b), {1, 2, 2}, {7, 10, 16, 19});
  expect_tensor(products(MatMul({.transpose_first = true}), a, b), {1, 3, 3},
                {-3, 4, 14, -3, 5, 19, -3, 6, 24});
  // By head.
  expect_tensor(products(MatMul(), a.reshape({1, 2, 1, 3}), b.reshape({1, 2, 3, 1})), {1, 2, 1, 1},
                {7, 19});
}

TEST(Dot, RefusesWhatDoesNotFit) {
  const auto refuse = [](auto layer, const std::vector<Shape>& shapes, const std::string& found) {
    expect_error([&] { layer.build_all(shapes, Random(1)); }, found);
  };
  refuse(Dot({2, 1}, "d"), {{2, 3}, {2, 3}},
         "Dot \"d\": expected two examples of 1 or 2 axes with as many elements along axes 2 and "
         "1, counted from 1 behind the batch, found [2, 3] and [2, 3]");
  refuse(Dot(), {{2, 3}}, "found [2, 3]");
  refuse(Dot({3, 1}), {{2, 3}, {3}}, "along axes 3 and 1");
  refuse(Dot({0, 1}), {{3}, {3}}, "along axes 0 and 1");
  refuse(Dot(), {{1, 2, 3}, {3}}, "found [1, 2, 3] and [3]");
  refuse(MatMul({.name = "m"}), {{2, 3}, {2, 3}},
         "MatMul \"m\": expected two values of matrices, [.., n, k] and [.., k, m], with the same "
         "axes in front, found [2, 3] and [2, 3]");
  refuse(MatMul(), {{2, 2, 3}, {1, 3, 2}}, "found [2, 2, 3] and [1, 3, 2]");
  refuse(MatMul(), {{3}, {3}}, "found [3] and [3]");
}

TEST(SpatialDropout, DropsWholeChannels) {
  const auto steps = built(SpatialDropout1D(0.5F), {7, 40});
  const auto pixels = built(SpatialDropout2D(0.5F), {7, 1, 40});
  expect_made_again(*steps);
  expect_made_again(*pixels);
  const Tensor y = steps->forward(Tensor::ones({2, 7, 40}), training(3));
  expect_tensor(pixels->forward(Tensor::ones({2, 7, 1, 40}), training(3)), {2, 7, 1, 40},
                values_of(y));
  Index kept = 0;
  std::array<std::vector<float>, 2> drawn;
  for (Index i = 0; i < 2; ++i) {
    for (Index channel = 0; channel < 40; ++channel) {
      const float value = y.at({i, 0, channel});
      drawn[static_cast<std::size_t>(i)].push_back(value);
      EXPECT_TRUE(value == 0.0F || value == 2.0F);
      kept += value == 0.0F ? 0 : 1;
      for (Index t = 1; t < 7; ++t) EXPECT_EQ(y.at({i, t, channel}), value);
    }
  }
  EXPECT_NEAR(static_cast<double>(kept), 40.0, 22.0);
  // Each example has a draw of its own.
  EXPECT_NE(drawn[0], drawn[1]);
  EXPECT_THROW(built(SpatialDropout1D(0.5F), {40}), InvalidArgument);
  EXPECT_THROW(built(SpatialDropout2D(0.5F), {7, 40}), InvalidArgument);
}

}  // namespace
}  // namespace octet::test::sequence_shapes_test
