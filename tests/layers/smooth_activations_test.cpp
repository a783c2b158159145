#include <octet/core/gradcheck.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/layers.h>
#include <octet/tests/layers/layer_testing.h>

#include <cmath>

// ELU, GELU and SiLU; layers that cut and repeat.

namespace octet::test::smooth_activations_test {
namespace {

/// An activation, and its formula.
struct Smooth {
  std::unique_ptr<Layer> layer;
  double (*formula)(double x);
};

std::vector<Smooth> smooth_layers() {
  std::vector<Smooth> all;
  all.push_back({std::make_unique<ELU>(), [](double x) { return x < 0 ? std::exp(x) - 1 : x; }});
  all.push_back({std::make_unique<GELU>(),
                 [](double x) { return 0.5 * x * std::erfc(-x * std::sqrt(0.5)); }});
  all.push_back({std::make_unique<GELU>(GELUOptions{.approximate = true}), [](double x) {
                   const double argument =
                       std::sqrt(8.0 / 3.14159265358979) * (x + 0.044715 * x * x * x);
                   return x / (1.0 + std::exp(-argument));
                 }});
  all.push_back({std::make_unique<SiLU>(), [](double x) { return x / (1.0 + std::exp(-x)); }});
  return all;
}

TEST(SmoothActivations, ComputeTheirFormulaAndItsGradient) {
  const Tensor x = Tensor::from({2, 4}, {-8, -2, -0.7F, -0.1F, 0.3F, 1, 2.5F, 9});
  for (const auto& [layer, formula] : smooth_layers()) {
    SCOPED_TRACE(layer->type());
    layer->build(Shape{4}, Random(1));
    const Tensor y = layer->forward(x, {});
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_NEAR(y.span()[i], formula(double{x.span()[i]}), 1e-6);
    }
    const auto result =
        gradcheck([&](const auto& in) { return square(layer->forward(in[0], {})); }, {x});
    EXPECT_TRUE(result.ok) << result.message;
    expect_made_again(*layer);
  }
}

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

}  // namespace
}  // namespace octet::test::smooth_activations_test
