#include <octet/layers/dropout.h>
#include <octet/layers/quantize/quantize_config.h>
#include <octet/layers/reshape.h>
#include <octet/tests/layers/layer_testing.h>

namespace octet::test::quantize_config_test {
namespace {

TEST(Default8Bit, QuantizesKernelsByLastValueSymmetricAndNarrow) {
  const Dense dense(3);
  const auto kernel = default_8bit()->kernel_quantizer(dense);
  EXPECT_EQ(kernel->type(), "LastValue");
  EXPECT_EQ(kernel->spec(), (QuantSpec{.narrow_range = true, .symmetric = true}));
  const auto channels =
      default_8bit({.weight_bits = 4, .per_channel = true})->kernel_quantizer(dense);
  EXPECT_EQ(channels->spec(),
            (QuantSpec{.num_bits = 4, .narrow_range = true, .symmetric = true, .axis = 1}));
}

TEST(Default8Bit, QuantizesActivationsByMovingAverageAsymmetric) {
  const auto activation = default_8bit({.weight_bits = 4})->activation_quantizer(Dense(3));
  EXPECT_EQ(activation->type(), "MovingAverage");
  EXPECT_EQ(activation->spec(), QuantSpec{});
}

TEST(Default8Bit, QuantizesTheOutputOfClampsAlone) {
  const auto config = default_8bit();
  for (const Activation activation : {Activation::relu, Activation::relu6}) {
    const auto output = config->output_quantizer(*built(ActivationLayer(activation), {4}));
    EXPECT_EQ(output->type(), "MovingAverage");
  }
  for (const Activation activation :
       {Activation::none, Activation::softmax, Activation::sigmoid, Activation::tanh}) {
    EXPECT_EQ(config->output_quantizer(*built(ActivationLayer(activation), {4})), nullptr);
  }
  EXPECT_EQ(config->output_quantizer(*built(Flatten(), {4})), nullptr);
  EXPECT_EQ(config->output_quantizer(*built(Dropout(0.5F), {4})), nullptr);
}

TEST(Default8Bit, RefusesBitsThatInt8CannotHold) {
  for (const int bits : {-1, 0, 1, 9, 16}) {
    expect_error([&] { default_8bit({.weight_bits = bits}); }, std::to_string(bits));
  }
  EXPECT_NO_THROW(default_8bit({.weight_bits = 2}));
}

TEST(Default8Bit, OfTfmotStartsAtSixAndDecaysBy0999) {
  const QuantizeOptions options = QuantizeOptions::tfmot_ranges();
  EXPECT_EQ(options.range_start, RangeStart::tfmot);
  EXPECT_EQ(options.ema_decay, 0.999);
  const auto activation = default_8bit(options)->activation_quantizer(Dense(3));
  activation->build("a", "a_", {3}, Quantizer::ZeroPoint::kept);
  EXPECT_EQ(activation->min().item(), -6.0F);
  activation->observe(Tensor::from({2}, {0.0F, 1.0F}));
  EXPECT_EQ(activation->max().item(), 6.0F - 5.0F * static_cast<float>(1.0 - 0.999));
  const auto kernel = default_8bit(options)->kernel_quantizer(Dense(3));
  kernel->build("k", "k_", {3, 3}, Quantizer::ZeroPoint::hidden);
  EXPECT_EQ(kernel->max().item(), 6.0F);
}

TEST(Default8Bit, OfOctetStartsAtTheFirstBatchWithItsDecay) {
  const auto activation = default_8bit({.ema_decay = 0.5})->activation_quantizer(Dense(3));
  activation->build("a", "a_", {3}, Quantizer::ZeroPoint::kept);
  activation->observe(Tensor::from({1}, {3.0F}));
  EXPECT_EQ(activation->max().item(), 3.0F);
  activation->observe(Tensor::from({1}, {6.0F}));
  EXPECT_NEAR(activation->max().item(), 5.0F, 1e-6F);
}

}  // namespace
}  // namespace octet::test::quantize_config_test
