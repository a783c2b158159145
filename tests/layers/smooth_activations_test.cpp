#include <octet/core/gradcheck.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/layers.h>
#include <octet/tests/layers/layer_testing.h>

#include <cmath>

// ELU, GELU and SiLU.

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
  for (const Smooth& smooth : smooth_layers()) {
    const auto& layer = smooth.layer;
    SCOPED_TRACE(layer->type());
    layer->build(Shape{4}, Random(1));
    const Tensor y = layer->forward(x, {});
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_NEAR(y.span()[i], smooth.formula(double{x.span()[i]}), 1e-6);
    }
    const auto result =
        gradcheck([&](const auto& in) { return square(layer->forward(in[0], {})); }, {x});
    EXPECT_TRUE(result.ok) << result.message;
    expect_made_again(*layer);
  }
}

}  // namespace
}  // namespace octet::test::smooth_activations_test
