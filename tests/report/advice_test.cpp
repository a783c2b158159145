#include <gtest/gtest.h>
#include <octet/report/advice.h>

namespace octet::test::advice_test {
namespace {

/// A layer that no rule has anything to say about.
LayerFacts sound_layer() {
  LayerFacts layer;
  layer.name = "conv2";
  layer.type = "Conv2D";
  layer.sqnr_db = 40.0;
  layer.result = {.values = 10000, .clipped = 10, .codes_used = 250, .codes = 256, .bits = 8};
  layer.result_channels = {.channels = 64, .median_span = 1.0, .wide = 0, .widest = {}, .dead = 0};
  layer.weights = GridFacts{.values = 1000, .clipped = 0, .codes_used = 200, .codes = 255};
  layer.weight_channels = {
      .channels = 64, .median_span = 0.1, .wide = 0, .widest = {{3, 0.2, 2.0}}, .dead = 0};
  layer.oscillating = 0.001;
  layer.sensitivity = Sensitivity{.only_this_quantized = 0.9, .only_this_in_float = 0.9001};
  return layer;
}

Report report_with(const LayerFacts& layer) {
  Report report;
  report.layers.layers = {sound_layer(), layer};
  report.layers.layers[0].name = "sound";
  report.layers.samples = 256;
  report.layers.sensitivity_samples = 1000;
  report.layers.float_accuracy = 0.91;
  report.layers.quantized_accuracy = 0.9;
  return report;
}

/// The only advice there is, of all rules together.
Advice only(const Report& report) {
  const std::vector<Advice> all = advice(report);
  EXPECT_EQ(all.size(), 1U);
  return all.empty() ? Advice{} : all.front();
}

TEST(Advice, HasNothingToSayOfASoundNetwork) {
  EXPECT_TRUE(advice(report_with(sound_layer())).empty());
  EXPECT_TRUE(advice(Report{}).empty());
}

TEST(Advice, WideChannelsOfAKernelWithOneScale) {
  LayerFacts layer = sound_layer();
  layer.weight_channels.wide = 3;
  layer.weight_channels.widest = {{17, 4.0, 40.0}};
  const Advice found = only(report_with(layer));
  EXPECT_EQ(found.rule, "wide channels");
  EXPECT_EQ(found.layer, "conv2");
  EXPECT_EQ(found.evidence,
            "3 of 64 channels of the kernel span 8 x the median or more; channel 17 spans 40.0 x");
  ASSERT_TRUE(found.gain);
  EXPECT_NEAR(*found.gain, 0.01, 1e-9);
  layer.weight_channels.widest[0].medians = 8.0;
  EXPECT_EQ(advise_wide_channels(report_with(layer)).size(), 1U);
  layer.weight_channels.widest[0].medians = 7.99;
  EXPECT_TRUE(advise_wide_channels(report_with(layer)).empty());
  layer.weight_channels.widest[0].medians = 40.0;
  layer.per_channel = true;
  EXPECT_TRUE(advise_wide_channels(report_with(layer)).empty());
}

TEST(Advice, ClippedResultsAndWeights) {
  LayerFacts layer = sound_layer();
  layer.result.clipped = 100;
  Advice found = only(report_with(layer));
  EXPECT_EQ(found.rule, "clipped values");
  EXPECT_EQ(found.evidence, "1.00 % of the results lie outside the grid");
  layer.fixed_grid = true;
  EXPECT_TRUE(advise_clipping(report_with(layer)).empty());
  layer = sound_layer();
  layer.result.clipped = 99;
  EXPECT_TRUE(advise_clipping(report_with(layer)).empty());
  layer.weights->clipped = 20;
  found = only(report_with(layer));
  EXPECT_EQ(found.evidence, "2.00 % of the weights lie outside the grid");
  EXPECT_NE(found.action.find("weight_calibration"), std::string::npos);
}

TEST(Advice, DeadChannels) {
  LayerFacts layer = sound_layer();
  layer.result_channels.dead = 2;
  const Advice found = only(report_with(layer));
  EXPECT_EQ(found.rule, "dead channels");
  EXPECT_EQ(found.evidence, "2 of 64 channels gave one code on all 256 samples");
  // An input's border is dark: it has no channels to remove.
  layer.weights.reset();
  EXPECT_TRUE(advise_dead_channels(report_with(layer)).empty());
}

TEST(Advice, UnusedCodes) {
  LayerFacts layer = sound_layer();
  layer.result.codes_used = 63;
  const Advice found = only(report_with(layer));
  EXPECT_EQ(found.rule, "unused codes");
  EXPECT_EQ(found.evidence, "results use 63 of 256 codes");
  layer.result.codes_used = 64;
  EXPECT_TRUE(advise_unused_codes(report_with(layer)).empty());
  layer.result.codes_used = 3;
  layer.result.values = 1000;
  EXPECT_TRUE(advise_unused_codes(report_with(layer)).empty());
  layer.result = {.values = 10000, .clipped = 0, .codes_used = 3, .codes = 16, .bits = 4};
  EXPECT_TRUE(advise_unused_codes(report_with(layer)).empty());
}

TEST(Advice, OscillatingWeights) {
  LayerFacts layer = sound_layer();
  layer.oscillating = 0.02;
  const Advice found = only(report_with(layer));
  EXPECT_EQ(found.rule, "oscillating weights");
  EXPECT_EQ(found.evidence, "2.00 % of the weights swing between two codes");
  layer.oscillating = 0.0199;
  EXPECT_TRUE(advise_oscillation(report_with(layer)).empty());
  layer.oscillating.reset();
  EXPECT_TRUE(advise_oscillation(report_with(layer)).empty());
}

TEST(Advice, ALayerThatDominatesTheLoss) {
  LayerFacts layer = sound_layer();
  layer.sensitivity->only_this_in_float = 0.906;
  const Advice found = only(report_with(layer));
  EXPECT_EQ(found.rule, "sensitive layer");
  EXPECT_EQ(found.evidence,
            "in float it alone brings 0.60 of the 1.00 points that quantization costs without "
            "training, on 1000 samples");
  ASSERT_TRUE(found.gain);
  EXPECT_NEAR(*found.gain, 0.6, 1e-9);
  EXPECT_NE(found.action.find("in_float"), std::string::npos);
  layer.weights->bits = 4;
  EXPECT_NE(only(report_with(layer)).action.find("more bits"), std::string::npos);
  layer.sensitivity->only_this_in_float = 0.904;
  EXPECT_TRUE(advise_sensitive_layer(report_with(layer)).empty());
  // Nothing is lost.
  Report gained = report_with(layer);
  gained.layers.layers[1].sensitivity->only_this_in_float = 0.95;
  gained.layers.float_accuracy = 0.89;
  EXPECT_TRUE(advise_sensitive_layer(gained).empty());
  // Half of next to nothing.
  Report report = report_with(layer);
  report.layers.layers[1].sensitivity->only_this_in_float = 0.9015;
  report.layers.float_accuracy = 0.902;
  EXPECT_TRUE(advise_sensitive_layer(report).empty());
}

TEST(Advice, ASignificantLoss) {
  Report report;
  report.outcomes = {{.name = "float", .accuracy = wilson_interval(95, 100)},
                     {.name = "trained",
                      .accuracy = wilson_interval(85, 100),
                      .against_float = mcnemar_test(12, 2)}};
  const Advice found = only(report);
  EXPECT_EQ(found.rule, "significant loss");
  EXPECT_EQ(found.layer, "");
  ASSERT_TRUE(found.gain);
  EXPECT_NEAR(*found.gain, 10.0, 1e-9);
  // As likely as not; better than float.
  report.outcomes[1].against_float = mcnemar_test(6, 4);
  EXPECT_TRUE(advise_significant_loss(report).empty());
  report.outcomes[1].against_float = mcnemar_test(2, 12);
  EXPECT_TRUE(advise_significant_loss(report).empty());
}

TEST(Advice, ComesWithTheLargestGainFirst) {
  LayerFacts layer = sound_layer();
  layer.oscillating = 0.5;
  Report report = report_with(layer);
  report.layers.layers[0].oscillating = 0.5;
  report.layers.layers[0].sensitivity->only_this_in_float = 0.8;
  const std::vector<Advice> all = advice(report);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].layer, "conv2");
  EXPECT_EQ(all[1].layer, "sound");
}

}  // namespace
}  // namespace octet::test::advice_test
