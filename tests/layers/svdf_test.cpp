#include <octet/layers/svdf.h>
#include <octet/tests/layers/drawn_layers.h>

#include <algorithm>

namespace octet::test::svdf_test {
namespace {

constexpr Index kSteps = 5;
constexpr Index kFeatures = 4;

TEST(SVDF, ComputesItsFormulaAndHasItsGradients) {
  constexpr std::size_t kUnits = 3;
  const Tensor x = Tensor::normal({2, kSteps, kFeatures}, Random(5), 0.0F, 1.0F);
  for (const std::size_t rank : {1U, 2U, 3U}) {
    for (const Padding padding : {Padding::causal, Padding::valid}) {
      for (const Activation f : {Activation::none, Activation::relu}) {
        SVDF layer =
            drawn(SVDF(kUnits, 3, f, {.rank = static_cast<Index>(rank), .padding = padding}),
                  {Shape{kSteps, kFeatures}});
        const auto features = tensor_named(layer.parameters(), "feature_kernel").span();
        const auto over_time = tensor_named(layer.parameters(), "time_kernel").span();
        const auto bias = tensor_named(layer.parameters(), "bias").span();
        const std::size_t filters = kUnits * rank;
        const std::size_t first = padding == Padding::valid ? 2 : 0;
        const Tensor y = layer.forward(x, {});
        ASSERT_EQ(y.shape(), (Shape{2, kSteps - static_cast<Index>(first), kUnits}));
        std::size_t at = 0;
        for (std::size_t example = 0; example < 2; ++example) {
          for (std::size_t t = first; t < kSteps; ++t) {
            for (std::size_t u = 0; u < kUnits; ++u) {
              double sum = bias[u];
              for (std::size_t i = u * rank; i < (u + 1) * rank; ++i) {
                for (std::size_t m = 0; m < 3; ++m) {
                  for (std::size_t k = 0; t + m >= 2 && k < kFeatures; ++k) {
                    sum += double{over_time[m * filters + i]} * features[k * filters + i] *
                           x.span()[((example * kSteps) + t + m - 2) * kFeatures + k];
                  }
                }
              }
              EXPECT_NEAR(y.span()[at++], f == Activation::relu ? std::max(sum, 0.0) : sum, 1e-5);
            }
          }
        }
        expect_made_again(layer);
      }
    }
    SVDF layer(2, 2, Activation::none, {.rank = static_cast<Index>(rank)});
    expect_gradients(layer, {Shape{3, 2}});
  }
  EXPECT_THROW(SVDF(0, 2), InvalidArgument);
  EXPECT_THROW(SVDF(2, 0), InvalidArgument);
  EXPECT_THROW(SVDF(2, 2, Activation::none, {.rank = 0}), InvalidArgument);
  EXPECT_THROW(SVDF(2, 2, Activation::none, {.padding = Padding::same}), InvalidArgument);
  EXPECT_THROW(SVDF(2, 2, Activation::tanh), InvalidArgument);
}

}  // namespace
}  // namespace octet::test::svdf_test
