// Each rule of the report on a network with its illness: the network gets the advice, the advice is
// carried out as it is written, and what it promised happens.

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <octet/compress/post_training.h>
#include <octet/core/text.h>
#include <octet/report/advice.h>
#include <octet/report/measure.h>
#include <octet/tests/report/ill_networks.h>

#include <functional>
#include <map>

namespace octet::test::tried_advice_test {
namespace {

constexpr std::size_t kSamples = 500;

Report report_of(const IllNetwork& network, const Model& quantized, const IntegerModel& shipped) {
  return measure_report(
      {lower_float(network.model), shipped, &quantized, &network.model}, network.data.train,
      network.data.test,
      {.sensitivity_samples = network.data.test.size(), .calibration_samples = kSamples});
}

/// The training examples that remedies are tried on, and as many that they were not.
struct Accuracies {
  double promised;
  double tested;
};

Accuracies accuracies_of(const IllNetwork& network, const QuantizeOptions& options) {
  const Model quantized =
      quantize_post_training(network.model, network.data.train.features(0, kSamples), options);
  const IntegerModel integers = lower(quantized);
  const Dataset& train = network.data.train;
  const Labels predicted = evaluate(integers, train).predictions;
  const std::size_t samples = network.data.test.size();
  std::size_t right = 0;
  for (std::size_t i = train.size() - samples; i < train.size(); ++i) {
    right += predicted[i] == train.labels()[i] ? 1 : 0;
  }
  return {static_cast<double>(right) / static_cast<double>(samples),
          evaluate(integers, network.data.test).accuracy};
}

std::string text_of(const std::vector<Advice>& all) {
  std::string text;
  for (const Advice& one : all) {
    text += fmt::format("[{}] {}: {} -> {}; {}\n", one.rule, one.layer, one.evidence, one.action,
                        one.promise);
  }
  return text;
}

Dataset standardized(const Standardization& columns, const Dataset& data) {
  const Tensor x = columns.apply(data.features(0, data.size()));
  const auto labels = data.labels();
  return Dataset::from_floats(data.name(), data.example_shape(), {x.span().begin(), x.span().end()},
                              {labels.begin(), labels.end()}, data.classes());
}

/// The lines of code that advice gives, and what a reader does who follows them.
const std::map<std::string, std::function<void(IllNetwork&, QuantizeOptions&)>>& written() {
  static const std::map<std::string, std::function<void(IllNetwork&, QuantizeOptions&)>> all = {
      {"QuantizeOptions{.input_calibration = Calibration::percentile, .percentile = 99}, octet "
       "quantize --input-calibration percentile --percentile 99",
       [](IllNetwork&, QuantizeOptions& o) {
         o.input_calibration = Calibration::percentile;
         o.percentile = 99;
       }},
      {"QuantizeOptions{.input_calibration = Calibration::min_max}, octet quantize "
       "--input-calibration min_max",
       [](IllNetwork&, QuantizeOptions& o) { o.input_calibration = Calibration::min_max; }},
      {"QuantizeOptions{.activation_calibration = Calibration::percentile, .percentile = 99.9}, "
       "octet quantize --calibration percentile --percentile 99.9",
       [](IllNetwork&, QuantizeOptions& o) {
         o.activation_calibration = Calibration::percentile;
         o.percentile = 99.9;
       }},
      {"QuantizeOptions{.activation_calibration = Calibration::min_max}, octet quantize "
       "--calibration min_max",
       [](IllNetwork&, QuantizeOptions& o) { o.activation_calibration = Calibration::min_max; }},
      {"QuantizeOptions{.weight_calibration = Calibration::min_max}, octet quantize "
       "--weight-calibration min_max",
       [](IllNetwork&, QuantizeOptions& o) { o.weight_calibration = Calibration::min_max; }},
      {"QuantizeOptions{.per_channel = true}, octet quantize --per-channel",
       [](IllNetwork&, QuantizeOptions& o) { o.per_channel = true; }},
      {"cross_layer_equalization(model) before quantize_model()",
       [](IllNetwork& of, QuantizeOptions&) { cross_layer_equalization(of.model); }},
      {"const Standardization columns = standardize_inputs(model, samples) before "
       "quantize_model(), and give the network columns.apply(x): octet quantize --mean and --std "
       "with what it found",
       [](IllNetwork& of, QuantizeOptions&) {
         const Tensor samples = of.data.train.features(0, kSamples);
         const Standardization columns = standardize_inputs(of.model, samples);
         of.data = {standardized(columns, of.data.train), standardized(columns, of.data.test)};
       }},
      {"model.layer(\"first\").set_quantization({.in_float = true}) before quantize_model()",
       [](IllNetwork& of, QuantizeOptions&) {
         of.model.layer("first").set_quantization({.in_float = true});
       }},
      {"model.layer(\"first\").set_quantization({.weight_bits = 8}) before quantize_model()",
       [](IllNetwork& of, QuantizeOptions&) {
         of.model.layer("first").set_quantization({.weight_bits = 8});
       }}};
  return all;
}

struct Case {
  const char* name;
  std::function<IllNetwork()> make;
  QuantizeOptions options;
  const char* rule;
  const char* layer;
};

class TriedAdvice : public ::testing::TestWithParam<Case> {};

TEST_P(TriedAdvice, KeepsItsPromise) {
  const Case& which = GetParam();
  IllNetwork network = which.make();
  QuantizeOptions options = which.options;
  const Model quantized =
      quantize_post_training(network.model, network.data.train.features(0, kSamples), options);
  const std::vector<Advice> all = advice(report_of(network, quantized, lower(quantized)));
  const auto found = std::ranges::find(all, which.rule, &Advice::rule);
  ASSERT_NE(found, all.end()) << text_of(all);
  EXPECT_EQ(found->layer, which.layer);
  const auto line = written().find(found->action);
  ASSERT_NE(line, written().end()) << text_of(all);

  const Accuracies before = accuracies_of(network, options);
  line->second(network, options);
  const Accuracies after = accuracies_of(network, options);
  EXPECT_EQ(found->promise,
            fmt::format("without training that gives {} instead of {} on 1000 training examples",
                        percent_text(after.promised), percent_text(before.promised)));
  EXPECT_GT(after.tested, before.tested + 0.01) << text_of(all);
  EXPECT_NEAR(*found->gain, 100.0 * (after.promised - before.promised), 1e-9);
}

INSTANTIATE_TEST_SUITE_P(
    Each, TriedAdvice,
    ::testing::Values(
        Case{"wide_kernel", wide_kernel, {}, "wide channels", "first"},
        Case{"eight_bits",
             [] { return sound_network(); },
             {.weight_calibration = Calibration::percentile, .percentile = 40.0},
             "sensitive layer",
             "first"},

        Case{"outliers_of_the_input",
             outliers_in_the_input,
             {},
             "outliers of the input",
             "quantize_layer"},
        Case{"outliers_of_results",
             outliers_in_a_result,
             {.per_channel = true},
             "outliers of results",
             "first"},
        Case{"clipped_input",
             [] { return sound_network(); },
             {.input_calibration = Calibration::percentile, .percentile = 50.0},
             "clipped values",
             "quantize_layer"},
        Case{"clipped_results",
             [] { return sound_network(); },
             {.activation_calibration = Calibration::percentile,
              .input_calibration = Calibration::min_max,
              .percentile = 70.0},
             "clipped values",
             "second"},
        Case{"clipped_weights",
             [] { return sound_network(); },
             {.weight_calibration = Calibration::percentile, .percentile = 40.0},
             "clipped values",
             "first"},
        Case{"wide_channels", [] { return wide_unit(300.0F); }, {}, "wide channels", "first"},
        Case{"starved_channels",
             [] { return wide_unit(300.0F); },
             {.per_channel = true},
             "starved channels",
             "first"},
        Case{"unlike_columns", unlike_columns, {}, "columns of unlike units", "quantize_layer"},
        Case{"unlike_branches", unlike_branches, {}, "branches of unlike units", "small"},
        Case{"few_bits",
             [] { return sound_network(); },
             {.weight_bits = 2},
             "sensitive layer",
             "first"}),
    [](const auto& which) { return std::string(which.param.name); });

TEST(TriedAdvice, SaysNothingOfASoundNetwork) {
  const IllNetwork network = sound_network();
  const Model quantized =
      quantize_post_training(network.model, network.data.train.features(0, kSamples));
  const Report report = report_of(network, quantized, lower(quantized));
  EXPECT_TRUE(report.layers.trials.empty());
  for (const Advice& one : advice(report)) {
    EXPECT_EQ(one.rule, "dead channels") << text_of(advice(report));
  }
}

TEST(TriedAdvice, OfUnlikeUnitsIsNoneThatMisleads) {
  for (const auto& make : {unlike_columns, unlike_branches}) {
    const IllNetwork network = make();
    Model quantized = quantize_model(network.model);
    Trainer trainer(quantized, Adam(3e-4F), {.batch_size = 64});
    trainer.fit(network.data.train, 2);
    const std::vector<Advice> all = advice(report_of(network, quantized, trainer.lower()));
    ASSERT_FALSE(all.empty());
    for (const Advice& one : all) {
      // No channel is constant in float, no calibration helps, and no length of training.
      EXPECT_NE(one.rule, "dead channels") << text_of(all);
      EXPECT_NE(one.rule, "significant loss") << text_of(all);
      EXPECT_EQ(one.action.find("calibration"), std::string::npos) << text_of(all);
    }
  }
}

/// `model` without units of "first" that are 0 throughout.
Model without_units(const Model& model, const std::vector<std::size_t>& dead) {
  const auto kept = static_cast<Index>(24 - dead.size());
  Sequential smaller("columns", Input({6}), Dense(kept, Activation::relu, "first"),
                     Dense(16, Activation::relu, "second"), Dense(2, Activation::softmax, "last"));
  smaller.build(1);
  const auto from = [&](const char* name) { return *model.layer(name).weights(); };
  const auto to = [&](const char* name) { return *smaller.layer(name).weights(); };
  std::size_t at = 0;
  for (std::size_t unit = 0; unit < 24; ++unit) {
    if (std::ranges::find(dead, unit) != dead.end()) continue;
    for (std::size_t i = 0; i < 6; ++i) {
      Tensor(to("first").kernel).mutable_span()[i * static_cast<std::size_t>(kept) + at] =
          from("first").kernel.span()[i * 24 + unit];
    }
    Tensor(to("first").bias).mutable_span()[at] = from("first").bias.span()[unit];
    std::ranges::copy(from("second").kernel.mutable_span().subspan(unit * 16, 16),
                      Tensor(to("second").kernel).mutable_span().subspan(at * 16, 16).begin());
    ++at;
  }
  std::ranges::copy(from("second").bias.mutable_span(),
                    Tensor(to("second").bias).mutable_span().begin());
  std::ranges::copy(from("last").kernel.mutable_span(),
                    Tensor(to("last").kernel).mutable_span().begin());
  std::ranges::copy(from("last").bias.mutable_span(),
                    Tensor(to("last").bias).mutable_span().begin());
  return smaller;
}

TEST(TriedAdvice, DeadChannelsCanGo) {
  IllNetwork network = dead_units();
  const Tensor samples = network.data.train.features(0, kSamples);
  const Model quantized = quantize_post_training(network.model, samples);
  const Report report = report_of(network, quantized, lower(quantized));
  const std::vector<Advice> all = advice(report);
  // Units that are below 0 for every sample are so for every input.
  EXPECT_NE(std::ranges::find(all, "constant units", &Advice::rule), all.end());
  const auto found = std::ranges::find(all, "dead channels", &Advice::rule);
  ASSERT_NE(found, all.end());
  EXPECT_EQ(found->layer, "first");
  const auto facts = std::ranges::find(report.layers.layers, "first", &LayerFacts::name);
  const std::vector<std::size_t>& dead = facts->result_channels.dead;
  EXPECT_NE(found->action.find(fmt::format("with {} units", 24 - dead.size())), std::string::npos);
  EXPECT_EQ(found->promise, "the file is smaller and computes the same");

  const Model smaller = without_units(network.model, dead);
  const Tensor x = network.data.test.features(0, network.data.test.size());
  const Tensor y = network.model.forward(x);
  const Tensor z = smaller.forward(x);
  for (std::size_t i = 0; i < y.span().size(); ++i) EXPECT_NEAR(y.span()[i], z.span()[i], 1e-5F);
  EXPECT_LT(to_tflite(lower(quantize_post_training(smaller, samples))).size(),
            to_tflite(lower(quantized)).size());
}

TEST(TriedAdvice, TrainingRegainsWhatIsLost) {
  // Ranges and scales are fine; two bits are too few for weights that were not trained for them.
  const IllNetwork network = sound_network();
  const QuantizeOptions options{.weight_bits = 2, .per_channel = true};
  const auto with_steps = [&](float rate, int epochs, bool falls) {
    Model quantized = quantize_model(network.model, options);
    const std::size_t steps = (network.data.train.size() + 63) / 64 * std::size_t(epochs);
    Trainer trainer(quantized, Adam(falls ? cosine_decay(rate, steps, 0.0F) : constant_rate(rate)),
                    {.batch_size = 64});
    trainer.fit(network.data.train, epochs);
    refresh_kernel_ranges(quantized);
    return report_of(network, quantized, trainer.lower());
  };
  // A rate at which training has destroyed the network that it began with.
  const Report harmed = with_steps(0.3F, 1, /*falls=*/false);
  const std::vector<Advice> all = advice(harmed);
  const auto found = std::ranges::find(all, "significant loss", &Advice::rule);
  ASSERT_NE(found, all.end()) << text_of(all);
  EXPECT_EQ(found->promise, "fewer examples are lost");
  const Report mended = with_steps(5e-4F, 10, /*falls=*/true);
  EXPECT_LT(mended.outcomes.back().against_float->only_first_right,
            harmed.outcomes.back().against_float->only_first_right);
}

TEST(TriedAdvice, AFallingRateSettlesWeights) {
  const IllNetwork network = sound_network();
  const auto trained = [&](const Schedule& schedule) {
    Model quantized = quantize_model(network.model, {.weight_bits = 2,
                                                     .weight_scales = Scales::lsq,
                                                     .activation_scales = Scales::lsq,
                                                     .count_oscillations = true});
    Trainer trainer(quantized, Adam(schedule), {.batch_size = 16});
    trainer.fit(network.data.train, 6);
    refresh_kernel_ranges(quantized);
    Report report = report_of(network, quantized, trainer.lower());
    report.history = trainer.history();
    return report;
  };
  const auto swinging = [](const Report& report) {
    double share = 0.0;
    for (const LayerFacts& layer : report.layers.layers) {
      share = std::max(share, layer.oscillating.value_or(0.0));
    }
    return share;
  };
  constexpr float kRate = 0.02F;
  const Report steady = trained(constant_rate(kRate));
  const std::vector<Advice> all = advice(steady);
  const auto found = std::ranges::find(all, "oscillating weights", &Advice::rule);
  ASSERT_NE(found, all.end()) << text_of(all) << swinging(steady);
  EXPECT_EQ(found->promise, "fewer weights oscillate");
  const Report falling = trained(cosine_decay(kRate, 6 * 125, 0.0F));
  EXPECT_LT(swinging(falling), swinging(steady));
  EXPECT_TRUE(advise_oscillation(falling).empty());
}

}  // namespace
}  // namespace octet::test::tried_advice_test
