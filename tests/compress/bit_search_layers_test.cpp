// The bytes of layers as a search for bits counts them, and which layers it searches.

#include <octet/compress/bit_search.h>
#include <octet/core/error.h>
#include <octet/layers/batch_norm.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/depthwise_conv2d.h>
#include <octet/layers/global_pool2d.h>
#include <octet/layers/lower.h>
#include <octet/tests/train/hard_clouds.h>
#include <octet/train/evaluate.h>

namespace octet::test::bit_search_layers_test {
namespace {

TEST(ShippedBytes, AreRowsPaddedToBytesAndTheirBiasesAndScales) {
  const Sequential mlp = small_mlp(0, 5, 3, 2);
  const LayerWeights dense = *mlp.layer("dense").weights();
  for (int bits = 2; bits <= 8; ++bits) {
    // Row by row, as bits that are written one after the other.
    std::int64_t packed = 0;
    for (int unit = 0; unit < 3; ++unit) {
      std::vector<bool> row;
      for (int input = 0; input < 5; ++input)
        row.insert(row.end(), static_cast<std::size_t>(bits), true);
      while (row.size() % 8 != 0) row.push_back(false);
      packed += static_cast<std::int64_t>(row.size() / 8);
    }
    EXPECT_EQ(shipped_bytes(dense, bits, true), packed + 3 * 4 + 3 * 8) << bits;
    EXPECT_EQ(shipped_bytes(dense, bits, false), packed + 3 * 4 + 8) << bits;
  }
  // [3, 3, 2, 5] weights: rows of 18, 5 bytes each at 2 bits.
  Sequential conv("conv", Input({6, 6, 2}),
                  Conv2D(5, {3, 3}, Activation::none, {.use_bias = false}),
                  DepthwiseConv2D({3, 3}));
  conv.build(0);
  EXPECT_EQ(shipped_bytes(*conv.layer("conv2d").weights(), 2, true), 5 * 5 + 5 * 8);
  // A row of 9 weights for each of 5 channels: 4 bytes at 3 bits.
  EXPECT_EQ(shipped_bytes(*conv.layer("depthwise_conv2d").weights(), 3, true),
            5 * 4 + 5 * 4 + 5 * 8);
  expect_mentions(
      message_of<InvalidArgument>([&] { static_cast<void>(shipped_bytes(dense, 9, true)); }),
      "expected 2 to 8 bits, found 9");
}

TEST(BitSearch, ABudgetBelowTheSmallestIsRefusedWithThatSize) {
  const Dataset data = hard_clouds(60);
  const Sequential model = small_mlp();
  // Rows of 6 and of 8 weights of 2 bits: 2 bytes each, for 8 and 3 units.
  const std::int64_t smallest = (8 + 3) * (2 + 4 + 8);
  expect_mentions(message_of<InvalidArgument>([&] { search_bits(model, data, smallest - 1); }),
                  "expected a budget of at least 154 bytes, which model \"small\" takes with 2 "
                  "bits in every layer that is searched, found 153");
  EXPECT_EQ(least_flash(model), smallest);
  EXPECT_EQ(least_flash(model, {.widths = {4, 8}}), 8 * (3 + 12) + 3 * (4 + 12));
  const BitSearch search = search_bits(model, data, smallest);
  EXPECT_EQ(search.chosen.bits, (std::vector<int>{2, 2}));
  EXPECT_EQ(search.chosen.bytes, smallest);
  EXPECT_EQ(search.measured.size(), 1U);
}

TEST(BitSearch, LayersThatSayTheirBitsKeepThem) {
  const Dataset data = hard_clouds(120);
  Sequential model("mixed", Input({6}), quantized(Dense(8, Activation::relu), {.weight_bits = 3}),
                   quantized(Dense(5, Activation::relu), {.per_channel = false}), Dense(3),
                   in_float(Dense(3)));
  model.build(1);
  const BitSearch search = search_bits(model, data, 1000, {.samples = 100});
  ASSERT_EQ(search.layers.size(), 2U);
  EXPECT_EQ(search.layers[0].name, "dense_1");
  EXPECT_EQ(search.layers[1].name, "dense_2");
  // 6 weights of 3 bits in 3 bytes; a layer of floats.
  EXPECT_EQ(search.fixed_bytes, 8 * (3 + 4 + 8) + 4 * (3 * 3 + 3));
  // One scale, as the layer asks for: rows of 8 weights.
  EXPECT_EQ(search.layers[0].widths.front().bytes, 5 * (2 + 4) + 8);
  Model told = model;
  set_weight_bits(told, search.chosen_bits());
  EXPECT_EQ(told.layer("dense_1").quantization().per_channel, false);
}

TEST(BitSearch, FlashIsToldLayerByLayer) {
  Sequential model("mixed", Input({6}), quantized(Dense(8, Activation::relu), {.weight_bits = 3}),
                   Dense(3, Activation::relu), in_float(Dense(2)));
  model.build(1);
  const std::vector<LayerFlash> expected = {{"dense", 3, 8 * (3 + 4) + 8},
                                            {"dense_1", 8, 3 * (8 + 4) + 8},
                                            {"dense_2", 32, 4 * (3 * 2 + 2)}};
  EXPECT_EQ(flash_by_layer(quantize_model(model)), expected);
  // Steps of grids that are learned are the scales of the integers.
  EXPECT_EQ(flash_by_layer(quantize_model(
                model, {.weight_scales = Scales::lsq, .activation_scales = Scales::lsq})),
            expected);
}

TEST(BitSearch, ConvolutionsWithBatchNormAreSearchedAsOneLayer) {
  std::vector<float> pixels(80 * 36);
  Labels labels(80);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = Random(5).uniform(i) * (static_cast<float>(i / 36 % 2) + 0.5F);
  }
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i % 2);
  const Dataset data = Dataset::from_floats("images", {6, 6, 1}, pixels, labels, 2);
  Sequential model("conv", Input({6, 6, 1}),
                   Conv2D(4, {3, 3}, Activation::none, {.use_bias = false}), BatchNorm(),
                   DepthwiseConv2D({3, 3}, Activation::relu), GlobalAveragePool2D(), BatchNorm(),
                   Dense(2, Activation::softmax));
  model.build(2);
  const BitSearch search = search_bits(model, data, 400);
  ASSERT_EQ(search.layers.size(), 3U);
  EXPECT_EQ(search.layers[0].name, "conv2d");
  // The fold brings a bias along.
  EXPECT_EQ(search.layers[0].widths.front().bytes, 4 * (3 + 4 + 8));
  EXPECT_EQ(search.layers[1].widths.front().bytes, 4 * (3 + 4 + 8));
  // The BatchNorm that is a layer of its own has a weight of 8 bits for each of 4 channels.
  EXPECT_EQ(search.fixed_bytes, 4 * (1 + 4 + 8));
  Model told = model;
  set_weight_bits(told, search.chosen_bits());
  const IntegerModel integers =
      lower(quantize_post_training(told, data.features(0, 80), {.per_channel = true}));
  EXPECT_EQ(search.chosen.measured->accuracy, evaluate(integers, data).accuracy);
}

}  // namespace
}  // namespace octet::test::bit_search_layers_test
