#include <gmock/gmock.h>
#include <octet/core/gradcheck.h>
#include <octet/core/ops/ops.h>
#include <octet/octet.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/layers/layer_testing.h>
#include <octet/tests/train/saved_and_shipped.h>
#include <octet/train/layer_differences.h>

#include <limits>

namespace octet::test::prelu_test {
namespace {

PReLU built(const Shape& shape) {
  PReLU layer(0.25F);
  layer.build(shape, Random());
  return layer;
}

TEST(PReLU, HasASlopeForEachChannelBelowZero) {
  PReLU layer = built({2, 2});
  fill(layer.parameters()[0].tensor, {0.5F, -2.0F});
  const Tensor x = Tensor::from({1, 2, 2}, {1.0F, 3.0F, -4.0F, -1.0F});
  EXPECT_THAT(layer.forward(x, {}).span(), testing::ElementsAre(1.0F, 3.0F, -2.0F, 2.0F));
  expect_made_again(PReLU(0.1F, "prelu"));
}

TEST(PReLU, HasTheGradientsOfItsInputAndItsSlopes) {
  PReLU layer = built({3, 2});
  // No value lies within the step of the difference of 0, where the slope jumps.
  Tensor x = Tensor::from(
      {2, 3, 2}, {1.0F, -3.0F, -0.5F, 0.7F, 2.0F, -1.0F, -2.0F, 0.9F, -0.3F, 1.5F, 0.4F, -0.8F});
  x.set_requires_grad(true);
  const auto f = [&](const std::vector<Tensor>& in) {
    const Tensor y = layer.forward(in[0], training());
    return mul(y, y);
  };
  const GradcheckResult result = gradcheck(f, {x, layer.parameters()[0].tensor});
  EXPECT_TRUE(result.ok) << result.message;
}

TEST(PReLU, IsTrainedShippedAndLoadedToTheLastBit) {
  const Dataset train = clouds(200, 1, 6, 3, 0.2F);
  const Dataset test = clouds(300, 2, 6, 3, 0.2F);
  for (const Rounding rounding : kContracts) {
    Sequential model("m", Input({6}), Dense(9), PReLU(0.25F, "prelu"),
                     Dense(3, Activation::softmax));
    model.build(/*seed=*/2);
    Model quantized = quantize_model(model, {.rounding = rounding});
    Trainer trainer(quantized, Adam(0.01F));
    trainer.fit(train, test, 8);
    expect_saved_and_shipped(quantized, trainer, test);
    const auto alpha = tensor_named(quantized.parameters(), "quant_prelu/alpha").span();
    EXPECT_TRUE(std::ranges::any_of(alpha, [](float value) { return value != 0.25F; }));
  }
}

TEST(PReLU, UsedTwiceIsOneTensorInFilesAndFollowsItsSlopes) {
  Model model("m");
  const Value x = model.input({6});
  const Value once = model.add(PReLU(0.25F, "slopes"), x);
  model.output(model.add(Dense(3), model.reuse(once, {once})));
  model.build(1);
  Model quantized = quantize_model(model);
  const Tensor samples = clouds(60, 1, 6, 3).features(0, 60);
  calibrate(quantized, samples);
  for (const IntegerModel& lowered : {lower(quantized), lower_float(model)}) {
    const auto is_slopes = [](const ModelTensor& tensor) {
      return !tensor.data.empty() && tensor.name.starts_with("slopes");
    };
    EXPECT_EQ(std::ranges::count_if(lowered.tensors, is_slopes), 1);
  }
  fill(tensor_named(quantized.parameters(), "quant_slopes/alpha"), std::vector<float>(6, 0.5F));
  freeze_ranges(quantized, true);
  // Every use has the range of the slopes as they are, the first too.
  const Tensor trained = quantized.forward(samples, training());
  EXPECT_THAT(trained.span(), testing::ElementsAreArray(quantized.forward(samples).span()));
}

TEST(PReLU, RefusesAnAlphaThatIsNoNumberAndExamplesWithoutChannels) {
  EXPECT_THROW(PReLU{std::numeric_limits<float>::quiet_NaN()}, InvalidArgument);
  EXPECT_THROW(PReLU(0.1F).build(Shape{}, Random()), InvalidArgument);
}

}  // namespace
}  // namespace octet::test::prelu_test
