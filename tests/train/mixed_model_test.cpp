// Networks that are not int8 all through: layers in float, and activations of other bits.

#include <octet/core/error.h>
#include <octet/core/log.h>
#include <octet/deploy/c/writer.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/layers/quantize/quantizers.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/train/logged.h>
#include <octet/tests/train/training.h>
#include <octet/train/layer_differences.h>
#include <octet/train/load_model.h>

#include <algorithm>

namespace octet::test::mixed_model_test {
namespace {

/// Trains with a test set; what training computes is what the exported file computes.
void expect_trains_and_ships(Sequential model) {
  const Dataset data = clouds(400, 3);
  const Logged log;
  Trainer trainer(model, Adam(1e-2F), {.batch_size = 16});
  trainer.fit(data, data, 3);
  EXPECT_TRUE(log.lines().empty());
  const EpochRecord& last = trainer.history().back();
  EXPECT_GT(*last.test_accuracy, 0.9);
  EXPECT_EQ(last.integer_accuracy, last.test_accuracy);
  EXPECT_EQ(last.differing_predictions, 0U);

  const ScratchDirectory scratch;
  trainer.export_int8(scratch.path() / "m.tflite");
  const IntegerModel file = read_tflite(scratch.path() / "m.tflite");
  const NetworkDifference difference = compare_networks(model, file, data);
  EXPECT_GT(difference.total().compared, 0U);
  EXPECT_EQ(difference.total().differing, 0U);
  trainer.export_onnx(scratch.path() / "m.onnx");
  expect_mentions(
      message_of<InvalidArgument>([&] { trainer.export_c_source(scratch.path() / "m"); }),
      "is float32, expected int8 or uint8 all through");
  // A run goes on where it was saved.
  trainer.save_checkpoint(scratch.path() / "c");
  const Model loaded = load_model(scratch.path() / "c");
  EXPECT_EQ(to_tflite(lower(loaded)), exported_bytes(trainer));
}

Sequential built(Sequential model) {
  model.build(/*seed=*/1);
  return model;
}

TEST(MixedModel, WithLayersInFloat) {
  expect_trains_and_ships(quantize_model(built(Sequential(
      "m", Input({6}), Dense(16, Activation::relu), in_float(Dense(12, Activation::tanh)),
      Dense(8, Activation::relu), in_float(Dense(3, Activation::softmax))))));
}

TEST(MixedModel, WithAnUnmarkedSoftmax) {
  expect_trains_and_ships(quantize_apply(
      built(Sequential("m", Input({6}), quantize_annotate_layer(Dense(16, Activation::relu)),
                       quantize_annotate_layer(Dense(3)), Softmax()))));
}

/// Activations of other bits than 8.
class Bits : public Default8BitQuantizeConfig {
 public:
  Bits(int bits, QuantizeOptions options) : Default8BitQuantizeConfig(options), bits_(bits) {}
  std::unique_ptr<Quantizer> activation_quantizer(const Layer& /*layer*/) const override {
    return std::make_unique<MovingAverageQuantizer>(QuantSpec{.num_bits = bits_});
  }

 private:
  int bits_;
};

TEST(MixedModel, OfActivationsThatNoOperatorHasIsScoredBySimulation) {
  const Dataset data = clouds(400, 3);
  for (const int bits : {4, 7, 16}) {
    SCOPED_TRACE(bits);
    const QuantizeOptions options{.simulation = Simulation::fake_quant};
    Sequential model = quantize_apply(
        built(Sequential("m", Input({6}),
                         quantize_annotate_layer(Dense(16, Activation::relu, "odd"),
                                                 std::make_shared<Bits>(bits, options)),
                         quantize_annotate_layer(Dense(3)))),
        options);
    const Logged log;
    Trainer trainer(model, Adam(1e-2F), {.batch_size = 16});
    trainer.fit(data, data, 3);
    EXPECT_GT(*trainer.history().back().test_accuracy, 0.9);
    EXPECT_EQ(trainer.history().back().integer_accuracy, std::nullopt);
    ASSERT_EQ(log.lines().size(), 1U);
    expect_mentions(log.lines()[0], "the test set is scored by simulation alone");
    const std::string refusal =
        message_of<InvalidArgument>([&] { trainer.export_int8("never_written.tflite"); });
    expect_mentions(log.lines()[0], refusal);
    expect_mentions(refusal, "layer \"quant_odd\": expected a result of the int8 values");
    // The advice, followed.
    Sequential other = quantize_model(
        built(Sequential("m", Input({6}), in_float(Dense(16, Activation::relu, "odd")), Dense(3))));
    calibrate(other, data.features(0, 100));
    EXPECT_EQ(compare_networks(other, lower(other), data).total().differing, 0U);
  }
}

TEST(PostTraining, IsAsGoodAsTheFloatsAndWhatIsShipped) {
  const Dataset data = clouds(600, 4);
  Sequential model = small_mlp();
  Trainer trainer(model, Adam(1e-2F), {.batch_size = 16});
  trainer.fit(data, 4);
  const Sequential quantized = quantize_post_training(model, data.features(0, 200));
  const IntegerModel shipped = lower(quantized);
  const Evaluation floats = evaluate(model, data);
  const Evaluation integers = evaluate(shipped, data);
  EXPECT_GT(floats.accuracy, 0.9);
  EXPECT_NEAR(integers.accuracy, floats.accuracy, 0.01);
  EXPECT_EQ(count_differing(evaluate(quantized, data), integers), 0U);
  EXPECT_EQ(compare_networks(quantized, shipped, data).total().differing, 0U);
}

}  // namespace
}  // namespace octet::test::mixed_model_test
