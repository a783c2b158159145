#include <fmt/core.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/kernel_ranges.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/weight_storage.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/layers/layer_testing.h>
#include <octet/tests/layers/quantize/random_convolutions.h>
#include <octet/tests/layers/quantize/random_nets.h>

#include <string>
#include <vector>

namespace octet::test::weight_storage_test {
namespace {

/// The bits that a file of packed weights holds each kernel in.
std::vector<int> stored_in_file(Model& model) {
  refresh_kernel_ranges(model);
  const IntegerModel packed = lower(model, {.pack_weights = true});
  std::vector<int> bits;
  for (const Operator& op : packed.operators) {
    const bool has_weights = op.code == OpCode::fully_connected || op.code == OpCode::conv_2d ||
                             op.code == OpCode::depthwise_conv_2d ||
                             op.code == OpCode::transpose_conv;
    if (has_weights) {
      bits.push_back(packed.tensors[static_cast<std::size_t>(op.inputs[1])].stored_bits);
    }
  }
  return bits;
}

void expect_as_in_file(Model& model, const std::string& what) {
  const std::vector<WeightStorage> told = weight_storage(model);
  const std::vector<int> found = stored_in_file(model);
  ASSERT_EQ(told.size(), found.size()) << what;
  for (std::size_t i = 0; i < told.size(); ++i) {
    EXPECT_GE(told[i].stored_bits, found[i]) << what << ", " << told[i].layer;
    // Few weights may all lie within fewer bits than they were trained on.
    const bool may_need_less = told[i].form.depth < 16;
    if (!may_need_less) {
      EXPECT_EQ(told[i].stored_bits, found[i]) << what << ", " << told[i].layer;
    }
  }
}

TEST(WeightStorage, IsThatOfTheFile) {
  for (std::uint32_t seed = 0; seed < 63; ++seed) {
    const QuantizeOptions options{.rounding = kContracts[seed % 3],
                                  .weight_bits = 2 + static_cast<int>(seed / 3 % 7),
                                  .per_channel = seed / 21 % 2 == 0};
    RandomNet net(seed);
    Model dense = quantize_model(net.model(), options);
    calibrate(dense, net.batch(9));
    expect_as_in_file(dense, fmt::format("dense net {}", seed));
    Model images = quantize_model(random_images_net(seed), options);
    calibrate(images, images_for(images, 4, seed));
    expect_as_in_file(images, fmt::format("net of images {}", seed));
  }
}

Model dense_net(Index inputs, const QuantizeOptions& options) {
  Sequential model("net", Input({inputs}), Dense(6, Activation::relu), Dense(3));
  model.build(0);
  return quantize_model(model, options);
}

TEST(WeightStorage, SaysWhatIsTrainedAndStored) {
  const auto first = [](const Model& model) { return weight_storage(model).front(); };
  const WeightStorage three = first(dense_net(8, {.weight_bits = 3}));
  EXPECT_EQ(three.text(), "trained 3 bit, stored 4, FULLY_CONNECTED in rounding mode fp32");
  EXPECT_EQ(three.obstacle, "");
  EXPECT_EQ(first(dense_net(8, {.weight_bits = 2, .per_channel = true})).stored_bits, 2);
  const WeightStorage two = first(dense_net(8, {.weight_bits = 2}));
  EXPECT_EQ(two.stored_bits, 4);
  EXPECT_NE(two.obstacle.find("per_channel"), std::string::npos) << two.obstacle;
  const WeightStorage six = first(dense_net(8, {.weight_bits = 6}));
  EXPECT_EQ(six.stored_bits, 8);
  EXPECT_EQ(six.obstacle, "");
  const std::string summary =
      dense_net(8, {.rounding = Rounding::double_rounding, .weight_bits = 4, .per_channel = true})
          .summary(Detail::quantization);
  EXPECT_NE(summary.find("trained 4 bit, stored 8, FULLY_CONNECTED in rounding mode double"),
            std::string::npos)
      << summary;
  EXPECT_TRUE(weight_storage(Sequential("net", Input({2}), Dense(1))).empty());
}

TEST(WeightStorage, IsRefusedWhereATargetTakesNoPackedWeights) {
  const auto tflm = [](bool per_channel) {
    return dense_net(
        8, {.rounding = Rounding::double_rounding, .weight_bits = 4, .per_channel = per_channel});
  };
  expect_error(
      [&] { require_packed_weights(tflm(true), Target::tflm); },
      "layer \"quant_dense\": expected weights that target tflm executes packed, found 4 "
      "bits of FULLY_CONNECTED with a scale per unit: TFLite Micro takes packed weights of "
      "FULLY_CONNECTED with one scale only; quantize the layer with per_channel = false");
  EXPECT_NO_THROW(require_packed_weights(tflm(false), Target::cmsis_nn));
  expect_error([&] { require_packed_weights(tflm(false), Target::litert); }, "rounding mode");
  expect_error([&] { require_packed_weights(dense_net(7, {.weight_bits = 4}), Target::litert); },
               "even number of inputs");
  EXPECT_NO_THROW(require_packed_weights(dense_net(7, {.weight_bits = 4}), Target::onnxruntime));
  EXPECT_NO_THROW(require_packed_weights(dense_net(7, {.weight_bits = 5}), Target::litert));
  Sequential images("net", Input({6, 6, 1}), Conv2D(4, {3, 3}));
  images.build(0);
  expect_error(
      [&] { require_packed_weights(quantize_model(images, {.weight_bits = 4}), Target::litert); },
      "in rounding mode single");
}

}  // namespace
}  // namespace octet::test::weight_storage_test
