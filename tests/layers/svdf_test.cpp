#include <octet/layers/svdf.h>
#include <octet/tests/layers/drawn_layers.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace octet::test::svdf_test {
namespace {

constexpr Index kSteps = 5;
constexpr Index kFeatures = 4;

TEST(SVDF, ComputesItsFormulaAndHasItsGradients) {
  constexpr std::size_t kUnits = 3;
  const Tensor x = Tensor::normal({2, kSteps, kFeatures}, Random(5), 0.0F, 1.0F);
  for (const std::size_t rank : {1U, 2U, 3U}) {
    // Of 7 steps, more than there are: with zeros in front alone.
    for (const auto& [padding, memory] :
         std::vector<std::pair<Padding, std::size_t>>{{Padding::causal, 3},
                                                      {Padding::causal, 1},
                                                      {Padding::causal, 7},
                                                      {Padding::valid, 3},
                                                      {Padding::valid, 1},
                                                      {Padding::valid, 5}}) {
      for (const Activation f : {Activation::none, Activation::relu}) {
        // Some of each without a bias.
        const bool use_bias = (rank + memory / 2) % 2 == (f == Activation::relu ? 0U : 1U);
        SVDF layer = drawn(
            SVDF(kUnits, static_cast<Index>(memory), f,
                 {.rank = static_cast<Index>(rank), .padding = padding, .use_bias = use_bias}),
            {Shape{kSteps, kFeatures}});
        const auto features = tensor_named(layer.parameters(), "feature_kernel").span();
        const auto over_time = tensor_named(layer.parameters(), "time_kernel").span();
        ASSERT_EQ(layer.parameters().size(), use_bias ? 3U : 2U);
        const auto bias = layer.parameters().back().tensor.span();
        const std::size_t filters = kUnits * rank;
        const std::size_t first = padding == Padding::valid ? memory - 1 : 0;
        const Tensor y = layer.forward(x, {});
        ASSERT_EQ(y.shape(), (Shape{2, kSteps - static_cast<Index>(first), kUnits}));
        std::size_t at = 0;
        for (std::size_t example = 0; example < 2; ++example) {
          for (std::size_t t = first; t < kSteps; ++t) {
            for (std::size_t u = 0; u < kUnits; ++u) {
              double sum = use_bias ? bias[u] : 0.0F;
              for (std::size_t i = u * rank; i < (u + 1) * rank; ++i) {
                for (std::size_t m = 0; m < memory; ++m) {
                  for (std::size_t k = 0; t + m >= memory - 1 && k < kFeatures; ++k) {
                    sum += double{over_time[m * filters + i]} * features[k * filters + i] *
                           x.span()[((example * kSteps) + t + m - (memory - 1)) * kFeatures + k];
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
  expect_error(
      [] {
        built(SVDF(2, 6, Activation::none, {.padding = Padding::valid, .name = "s"}),
              {kSteps, kFeatures});
      },
      "layer \"s\" of type SVDF");
  EXPECT_THROW(SVDF(0, 2), InvalidArgument);
  EXPECT_THROW(SVDF(2, 0), InvalidArgument);
  EXPECT_THROW(SVDF(2, 2, Activation::none, {.rank = 0}), InvalidArgument);
  EXPECT_THROW(SVDF(2, 2, Activation::none, {.padding = Padding::same}), InvalidArgument);
  EXPECT_THROW(SVDF(2, 2, Activation::tanh), InvalidArgument);
}

}  // namespace
}  // namespace octet::test::svdf_test
