#include <octet/core/gradcheck.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/layers.h>
#include <octet/tests/layers/layer_testing.h>

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

// ELU, GELU, SiLU and MathFunction.

namespace octet::test::smooth_activations_test {
namespace {

/// An activation, and its formula.
struct Smooth {
  std::unique_ptr<Layer> layer;
  double (*formula)(double x);
  /// How far off a result may be.
  double tolerance = 1e-6;
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
  all.push_back({std::make_unique<MathFunction>(UnaryFunction::exp),
                 [](double x) { return std::exp(x); }, 1e-3});
  return all;
}

TEST(SmoothActivations, ComputeTheirFormulaAndItsGradient) {
  const Tensor x = Tensor::from({2, 4}, {-8, -2, -0.7F, -0.1F, 0.3F, 1, 2.5F, 9});
  for (const Smooth& smooth : smooth_layers()) {
    const auto& layer = smooth.layer;
    SCOPED_TRACE(layer->type());
    layer->build(Shape{4}, Random(1));
    const Tensor y = layer->forward(x, {});
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_NEAR(y.span()[i], smooth.formula(double{x.span()[i]}), smooth.tolerance);
    }
    const auto result =
        gradcheck([&](const auto& in) { return square(layer->forward(in[0], {})); }, {x});
    EXPECT_TRUE(result.ok) << result.message;
    expect_made_again(*layer);
  }
}

TEST(MathFunction, OfValuesAboveZeroAndAtZero) {
  const Tensor x = Tensor::from({1, 5}, {0, 0.25F, 1, 2, 9});
  for (const auto& [function, values, slopes] :
       {std::tuple{UnaryFunction::log,
                   std::vector<float>{-std::numeric_limits<float>::infinity(), -1.3862944F, 0,
                                      0.6931472F, 2.1972246F},
                   std::vector<float>{0, 4, 1, 0.5F, 1.0F / 9}},
        {UnaryFunction::sqrt, {0, 0.5F, 1, 1.4142136F, 3}, {0, 1, 0.5F, 0.3535534F, 1.0F / 6}}}) {
    const auto layer = built(MathFunction(function), {5});
    const Tensor from = x.clone().set_requires_grad(true);
    const Tensor y = layer->forward(from, {});
    sum(y).backward();
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_FLOAT_EQ(y.span()[i], values[i]) << i;
      EXPECT_FLOAT_EQ(from.grad().span()[i], slopes[i]) << i;
    }
    expect_made_again(*layer);
  }
  Description sine = describe_layer(MathFunction(UnaryFunction::exp));
  sine.set("function", "sin");
  expect_throws<FormatError>([&] { make_layer(sine); }, {"exp, log or sqrt, found \"sin\""});
}

}  // namespace
}  // namespace octet::test::smooth_activations_test
