#include <octet/core/quant/quant_params.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/dropout.h>
#include <octet/tests/layers/layer_testing.h>

#include <algorithm>

namespace octet::test::dropout_test {
namespace {

using detail::TensorAccess;

TEST(Dropout, DropsItsShareAndScalesTheRest) {
  constexpr Index kCount = 100000;
  for (const float rate : {0.1F, 0.5F, 0.9F}) {
    const auto layer = built(Dropout(rate), {kCount});
    const Tensor y = layer->forward(Tensor::ones({1, kCount}), training(3));
    Index dropped = 0;
    for (const float v : y.span()) {
      if (v == 0.0F) {
        ++dropped;
      } else {
        ASSERT_EQ(v, 1.0F / (1.0F - rate));
      }
    }
    // Five standard deviations of a binomial.
    const double expected = double{rate} * kCount;
    EXPECT_NEAR(static_cast<double>(dropped), expected,
                5.0 * std::sqrt(expected * (1.0 - double{rate})));
  }
}

TEST(Dropout, PassesEverythingOnOutsideTraining) {
  const auto layer = built(Dropout(0.5F), {9});
  const Tensor x = random_tensor({4, 9}, 1);
  expect_tensor(layer->forward(x, {}), {4, 9}, values_of(x));
  expect_tensor(layer->forward(x, calibration()), {4, 9}, values_of(x));
  expect_tensor(built(Dropout(0.0F), {9})->forward(x, training()), {4, 9}, values_of(x));
}

TEST(Dropout, ItsMaskIsThatOfItsStreamOnAnyNumberOfThreads) {
  const auto layer = built(Dropout(0.3F), {40000});
  const Tensor x = random_tensor({2, 40000}, 2);
  expect_same_on_any_threads([&] { return std::vector<Tensor>{layer->forward(x, training(5))}; });
  EXPECT_EQ(values_of(layer->forward(x, training(5))), values_of(layer->forward(x, training(5))));
  EXPECT_NE(values_of(layer->forward(x, training(5))), values_of(layer->forward(x, training(6))));
}

TEST(Dropout, LayersOfAModelDropDifferently) {
  Sequential model("m", Input({1000}), Dropout(0.5F), Dropout(0.5F));
  model.build();
  const Tensor y = model.forward(Tensor::ones({1, 1000}), training(1));
  const auto kept = std::ranges::count_if(values_of(y), [](float v) { return v != 0.0F; });
  // A mask twice the same would keep half.
  EXPECT_NEAR(static_cast<double>(kept), 250.0, 70.0);
}

TEST(Dropout, ItsGradientIsItsMask) {
  const auto layer = built(Dropout(0.5F), {50});
  const Tensor mask = layer->forward(Tensor::ones({2, 50}), training(4));
  const Tensor gradient = gradient_of(
      [&](const Tensor& x) { return layer->forward(x, training(4)); }, random_tensor({2, 50}, 9));
  expect_tensor(gradient, {2, 50}, values_of(mask));
}

TEST(Dropout, LeavesItsResultOnAGridOfWiderSteps) {
  Tensor x = Tensor::from({1, 4}, {0.5F, -0.25F, 0.75F, 1.0F});
  TensorAccess::set_quantization(
      x, std::make_shared<const QuantParams>(QuantParams::per_tensor(0.25F, -3)),
      std::make_shared<std::int8_t[]>(4));
  const Tensor y = built(Dropout(0.5F), {4})->forward(x, training(2));
  ASSERT_NE(y.quantization(), nullptr);
  EXPECT_EQ(y.quantization()->scale(), 0.5F);
  EXPECT_EQ(y.quantization()->zero_point(), -3);
  EXPECT_EQ(x.quantization()->scale(), 0.25F);
  // What was dropped has another code.
  EXPECT_EQ(TensorAccess::integers(y).as<std::int8_t>(), nullptr);
  EXPECT_NE(TensorAccess::integers(x).as<std::int8_t>(), nullptr);
  // Outside training the grid stays as it is.
  EXPECT_EQ(built(Dropout(0.5F), {4})->forward(x, {}).quantization()->scale(), 0.25F);
}

TEST(Dropout, RefusesARateOutsideItsRange) {
  for (const float rate : {-0.1F, 1.0F, 1.5F, kNan, kInf}) {
    EXPECT_THROW(Dropout{rate}, InvalidArgument) << rate;
  }
}

}  // namespace
}  // namespace octet::test::dropout_test
