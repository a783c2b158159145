// What a search for bits measures, and what it chooses.

#include <octet/compress/bit_search.h>
#include <octet/core/error.h>
#include <octet/layers/concatenate.h>
#include <octet/layers/lower.h>
#include <octet/tests/core/ops/op_testing.h>
#include <octet/tests/train/distributed/thread_group.h>
#include <octet/tests/train/hard_clouds.h>
#include <octet/train/evaluate.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace octet::test::bit_search_test {
namespace {

const std::vector<int> kWidths = {2, 3, 4, 5, 6, 8};

/// Three layers with kernels that have learned `data`.
Sequential trained_mlp(const Dataset& data) {
  Sequential model("small", Input({6}), Dense(11, Activation::relu), Dense(7, Activation::relu),
                   Dense(3, Activation::softmax));
  model.build(3);
  Trainer(model, Adam(0.02F), {.batch_size = 32, .seed = 3}).fit(data, 4);
  return model;
}

/// The lowered network with these bits, made by hand.
IntegerModel integers_with(const Model& model, const Dataset& data, const BitSearchOptions& options,
                           const std::map<std::string, int>& bits) {
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): its layers are changed
  Model copy = model;
  for (const auto& [name, width] : bits) {
    copy.layer(name).set_quantization({.weight_bits = width});
  }
  const std::size_t count = std::min(options.calibration_samples, data.size());
  return lower(quantize_post_training(copy, data.features(0, count), options.quantize));
}

/// The loss of the logits, with the operator SOFTMAX taken off.
double loss_of(IntegerModel model, const Dataset& data) {
  EXPECT_EQ(model.operators.back().code, OpCode::softmax);
  model.outputs = model.operators.back().inputs;
  model.operators.pop_back();
  return measure(model, data, {loss_metric("loss", sparse_categorical_cross_entropy())})[0].value;
}

TEST(BitSearch, SensitivityIsTheLossOfTheIntegersWithOneLayerChanged) {
  const Dataset data = hard_clouds();
  const Sequential model = trained_mlp(data);
  const BitSearchOptions options{.samples = 200, .calibration_samples = 60};
  const Dataset samples = data.head(200);
  const BitSearch search = search_bits(model, data, 1000, options);
  const IntegerModel widest = integers_with(model, data, options, {});
  EXPECT_EQ(search.widest.loss, loss_of(widest, samples));
  EXPECT_EQ(search.widest.accuracy, evaluate(widest, samples).accuracy);
  EXPECT_EQ(search.in_float.accuracy, evaluate(model, samples).accuracy);
  ASSERT_EQ(search.layers.size(), 3U);
  double largest = 0.0;
  for (const SearchedLayer& layer : search.layers) {
    ASSERT_EQ(layer.widths.size(), kWidths.size());
    for (std::size_t i = 0; i < kWidths.size(); ++i) {
      const WidthCost& width = layer.widths[i];
      const IntegerModel one = integers_with(model, data, options, {{layer.name, kWidths[i]}});
      EXPECT_EQ(width.bits, kWidths[i]);
      EXPECT_EQ(width.bytes, shipped_bytes(*model.layer(layer.name).weights(), width.bits, true));
      EXPECT_EQ(width.loss_rise, loss_of(one, samples) - search.widest.loss) << layer.name;
      EXPECT_EQ(width.accuracy_drop, *search.widest.accuracy - evaluate(one, samples).accuracy);
      largest = std::max(largest, width.loss_rise);
    }
  }
  EXPECT_GT(largest, 0.01);
}

/// All ways to give bits to the layers of a search.
std::vector<BitAssignment> all_assignments(const BitSearch& search) {
  std::vector<BitAssignment> all(1);
  all[0].bytes = search.fixed_bytes;
  for (const SearchedLayer& layer : search.layers) {
    std::vector<BitAssignment> longer;
    for (const BitAssignment& one : all) {
      for (const WidthCost& width : layer.widths) {
        BitAssignment next = one;
        next.bits.push_back(width.bits);
        next.bytes += width.bytes;
        next.predicted.loss += width.loss_rise;
        longer.push_back(next);
      }
    }
    all = longer;
  }
  std::ranges::stable_sort(all, [](const BitAssignment& a, const BitAssignment& b) {
    return std::pair(a.predicted.loss, a.bytes) < std::pair(b.predicted.loss, b.bytes);
  });
  return all;
}

TEST(BitSearch, TheBestFiveAreRunAndTheBestOfThoseIsChosen) {
  const Dataset data = hard_clouds();
  const Sequential model = trained_mlp(data);
  const BitSearchOptions options{.calibration_samples = 60};
  // 3 bits in the second layer pad to the bytes of 2 bits and more: budgets in between count too.
  for (const std::int64_t budget : {330, 350, 375, 400, 500}) {
    const BitSearch search = search_bits(model, data, budget, options);
    std::vector<std::vector<int>> expected;
    for (const BitAssignment& one : all_assignments(search)) {
      if (one.bytes <= budget && expected.size() < 5) expected.push_back(one.bits);
    }
    // What is left may have widened the best.
    ASSERT_GE(search.measured.size(), expected.size()) << budget;
    ASSERT_LE(search.measured.size(), expected.size() + 1) << budget;
    double least = search.measured.front().measured->loss;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const BitAssignment& one = search.measured[i];
      EXPECT_EQ(one.bits, expected[i]) << budget;
      EXPECT_LE(one.bytes, budget);
      const IntegerModel integers = integers_with(
          model, data, options,
          {{"dense", one.bits[0]}, {"dense_1", one.bits[1]}, {"dense_2", one.bits[2]}});
      EXPECT_EQ(one.measured->loss, loss_of(integers, data));
      EXPECT_EQ(one.measured->accuracy, evaluate(integers, data).accuracy);
      least = std::min(least, one.measured->loss);
    }
    EXPECT_LE(search.chosen.measured->loss,
              least + search.widest.loss / std::sqrt(static_cast<double>(data.size())));
    EXPECT_EQ(search.budget, budget);
    Model told = model;
    set_weight_bits(told, search.chosen_bits());
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(told.layer(search.layers[i].name).quantization().weight_bits,
                search.chosen.bits[i]);
    }
  }
}

TEST(BitSearch, WhatIsLeftOfABudgetWidensLayersThatAreNoWorseForIt) {
  const Dataset data = hard_clouds();
  const Sequential model = trained_mlp(data);
  const BitSearchOptions options{.calibration_samples = 60};
  for (const std::int64_t budget : {330, 350, 375, 400, 500, 100000}) {
    const BitSearch search = search_bits(model, data, budget, options);
    SCOPED_TRACE(budget);
    const double noise = search.widest.loss / std::sqrt(300.0);
    EXPECT_LE(search.chosen.bytes, budget);
    const bool widened = search.chosen.bits == search.measured.back().bits;
    for (std::size_t i = 0; i < search.layers.size(); ++i) {
      const auto& widths = search.layers[i].widths;
      const auto now = std::ranges::find(widths, search.chosen.bits[i], &WidthCost::bits);
      if (!widened || now + 1 == widths.end()) continue;
      const bool fits = search.chosen.bytes + (now + 1)->bytes - now->bytes <= budget;
      EXPECT_TRUE(!fits || (now + 1)->loss_rise > now->loss_rise + noise) << search.layers[i].name;
    }
    // No more loss than the best of the five, as far as the samples tell.
    double least = 1e300;
    for (const BitAssignment& one : search.measured) least = std::min(least, one.measured->loss);
    EXPECT_LE(search.chosen.measured->loss, least + noise);
  }
  EXPECT_EQ(search_bits(model, data, 100000, options).chosen.bits, (std::vector<int>{8, 8, 8}));
}

TEST(BitSearch, TheCurveIsWhatNoOtherBeats) {
  const Dataset data = hard_clouds();
  const BitSearch search = search_bits(trained_mlp(data), data, 400, {.calibration_samples = 60});
  const std::vector<BitAssignment> all = all_assignments(search);
  std::size_t at = 0;
  std::size_t measured = 0;
  std::vector<std::int64_t> sizes;
  sizes.reserve(all.size());
  for (const BitAssignment& one : all) sizes.push_back(one.bytes);
  std::ranges::sort(sizes);
  double least = 1e300;
  for (const std::int64_t size : sizes) {
    const auto best =
        std::ranges::find_if(all, [size](const BitAssignment& one) { return one.bytes <= size; });
    if (best->predicted.loss >= least) continue;
    least = best->predicted.loss;
    ASSERT_LT(at, search.curve.size());
    EXPECT_EQ(search.curve[at].bits, best->bits);
    EXPECT_EQ(search.curve[at].bytes, best->bytes);
    measured += search.curve[at].measured ? 1U : 0U;
    ++at;
  }
  EXPECT_EQ(at, search.curve.size());
  EXPECT_GE(measured, 1U);
  EXPECT_EQ(search.curve.front().bytes, sizes.front());
}

TEST(BitSearch, IsTheSameOnAnyNumberOfThreadsAndChangesNothing) {
  const KeepThreads keep;
  const Dataset data = hard_clouds();
  const Sequential model = trained_mlp(data);
  const Bytes before = bytes_of(model);
  set_num_threads(1);
  const BitSearch one = search_bits(model, data, 400);
  const BitSearch one_drop = search_bits_for_drop(model, data, 2.0);
  set_num_threads(2);
  EXPECT_EQ(search_bits(model, data, 400), one);
  EXPECT_EQ(search_bits_for_drop(model, data, 2.0), one_drop);
  EXPECT_EQ(bytes_of(model), before);
  EXPECT_EQ(model.layer("dense").quantization(), LayerQuantization{});
}

TEST(BitSearch, IsTheSameOnAnyNumberOfRanks) {
  const KeepThreads keep;
  set_num_threads(1);
  const Dataset data = hard_clouds();
  const Sequential model = trained_mlp(data);
  const BitSearchOptions alone{.samples = 200, .calibration_samples = 60};
  const BitSearch expected = search_bits(model, data, 400, alone);
  const BitSearch expected_for_drop = search_bits_for_drop(model, data, 3.0, alone);
  for (const int ranks : {2, 3, 5}) {
    ThreadGroups::run(ranks, [&](ProcessGroup& group) {
      BitSearchOptions shared = alone;
      shared.group = &group;
      EXPECT_EQ(search_bits(model, data, 400, shared), expected) << ranks;
      EXPECT_EQ(search_bits_for_drop(model, data, 3.0, shared), expected_for_drop) << ranks;
    });
  }
}

TEST(BitSearch, RefusesOptionsThatMakeNoSense) {
  const Dataset data = hard_clouds(60);
  const Sequential model = small_mlp();
  const auto refusal = [&](const BitSearchOptions& options) {
    return message_of<InvalidArgument>([&] { search_bits(model, data, 1000, options); });
  };
  expect_mentions(refusal({.widths = {}}), "expected ascending widths from 2 to 8 bits, found {}");
  expect_mentions(refusal({.widths = {4, 4}}), "found {4, 4}");
  expect_mentions(refusal({.widths = {1, 8}}), "found {1, 8}");
  expect_mentions(refusal({.widths = {2, 9}}), "found {2, 9}");
  expect_mentions(refusal({.samples = 0}), "found 0 and 500");
  expect_mentions(refusal({.quantize = {.rounding = Rounding::q15, .activation_bits = 16}}),
                  "expected activations of 8 bits or fewer");
  expect_mentions(refusal({.loss = nullptr}), "expected a loss, found none");
  expect_mentions(refusal({.loss = mean_squared_error()}), "softmax");
  expect_mentions(message_of<InvalidArgument>([&] { search_bits(model, data.head(0), 1000); }),
                  "found an empty data set, 'clouds'");
  expect_mentions(message_of<InvalidArgument>([&] { search_bits_for_drop(model, data, -1.0); }),
                  "expected 0 to 100 percentage points, found -1");
  expect_mentions(
      message_of<InvalidArgument>([&] { search_bits(quantize_model(model), data, 1000); }),
      "is quantized already");
  Model all_given = model;
  set_weight_bits(all_given, {{"dense", 4}, {"dense_1", 8}});
  expect_mentions(message_of<InvalidArgument>([&] { search_bits(all_given, data, 1000); }),
                  "whose bits are not given, found none in \"small\"");
}

TEST(BitSearch, ADropIsKeptToWithTheFewestBytesOfTheCurve) {
  const Dataset data = hard_clouds();
  const Sequential model = trained_mlp(data);
  const BitSearchOptions options{.calibration_samples = 60};
  std::int64_t more_bytes = 1 << 30;
  for (const double points : {1.0, 3.0, 10.0, 100.0}) {
    const BitSearch search = search_bits_for_drop(model, data, points, options);
    const auto drop = [&](const BitAssignment& one) {
      return 100.0 * (*search.in_float.accuracy - *one.measured->accuracy);
    };
    EXPECT_LE(drop(search.chosen), points + 1e-9);
    for (const BitAssignment& one : search.measured) {
      if (one.bytes < search.chosen.bytes) {
        EXPECT_GT(drop(one), points);
      }
    }
    EXPECT_LE(search.chosen.bytes, more_bytes) << points;
    more_bytes = search.chosen.bytes;
    EXPECT_EQ(search.most_drop, points);
    // The point of the curve in front of the chosen one was run and did not hold, or is none.
    std::int64_t in_front = 0;
    for (const BitAssignment& one : search.curve) {
      if (one.bytes < search.chosen.bytes) in_front = one.bytes;
    }
    EXPECT_TRUE(in_front == 0 || std::ranges::any_of(search.measured,
                                                     [&](const BitAssignment& one) {
                                                       return one.bytes <= search.chosen.bytes &&
                                                              one.bits != search.chosen.bits;
                                                     }))
        << points;
  }
  EXPECT_EQ(search_bits_for_drop(model, data, 100.0, options).chosen.bits,
            (std::vector<int>{2, 2, 2}));
}

TEST(BitSearch, ADropThatEvenTheWidestExceedsIsRefused) {
  const Dataset data = hard_clouds();
  const Sequential model = trained_mlp(data);
  const std::string message = message_of<InvalidArgument>(
      [&] { search_bits_for_drop(model, data, 0.0, {.calibration_samples = 60, .widths = {2}}); });
  expect_mentions(message, "expected a drop that 2 bits in every layer keep to, found 0 points");
  const Dataset numbers =
      Dataset::from_tensors("numbers", Tensor::ones({4, 6}), Tensor::ones({4, 3}));
  expect_mentions(message_of<InvalidArgument>([&] { search_bits_for_drop(model, numbers, 1.0); }),
                  "expected class labels of one output, found targets of shape [3] in 'numbers'");
}

TEST(BitSearch, OfSeveralOutputsTheLossIsTheWeightedSum) {
  Model model("two");
  const Value x = model.input({6}, "x");
  const Value z = model.input({3}, "z");
  const Value both = model.add(Concatenate(), {model.add(Dense(5, Activation::relu), x),
                                               model.add(Dense(5, Activation::relu), z)});
  model.output(model.add(Dense(3, Activation::softmax, "kind"), both));
  model.output(model.add(Dense(2, Activation::sigmoid, "marks"), both));
  model.output(model.add(Dense(1, Activation::none, "size"), both));
  model.build(1);
  const Index count = 90;
  Labels kinds;
  for (Index i = 0; i < count; ++i) kinds.push_back(static_cast<std::int32_t>(i % 3));
  const Tensor features_x = random_tensor({count, 6}, 1);
  const Tensor features_z = random_tensor({count, 3}, 2);
  const Tensor marks = random_tensor({count, 2}, 3, 0.0F, 1.0F);
  const Tensor sizes = random_tensor({count, 1}, 4);
  const Dataset data =
      Dataset::from_tensors("three", {features_x, features_z}, {kinds, marks, sizes});
  const BitSearchOptions options{
      .losses = {{.output = "size", .loss = mean_squared_error(), .weight = 2.0F},
                 {.output = "kind"},
                 {.output = "marks", .loss = binary_cross_entropy(), .weight = 0.5F}}};
  const BitSearch search = search_bits(model, data, 400, options);
  const auto loss_of = [&](const auto& network) {
    const auto values = measure(
        network, data,
        std::vector<OutputMetric>{{0, loss_metric("kind", sparse_categorical_cross_entropy())},
                                  {1, loss_metric("marks", binary_cross_entropy())},
                                  {2, loss_metric("size", mean_squared_error())}});
    return values[0].value + 0.5 * values[1].value + 2.0 * values[2].value;
  };
  EXPECT_DOUBLE_EQ(search.in_float.loss, loss_of(model));
  const std::vector<Tensor> inputs = {features_x, features_z};
  const Model widest = quantize_post_training(model, inputs, options.quantize);
  EXPECT_DOUBLE_EQ(search.widest.loss, loss_of(lower(widest)));
  // The integers' loss is that of their simulation: logits, of softmax and sigmoid, among them.
  EXPECT_NEAR(search.widest.loss, loss_of(widest), 1e-6);
  Model chosen = model;
  set_weight_bits(chosen, search.chosen_bits());
  EXPECT_DOUBLE_EQ(search.chosen.measured->loss,
                   loss_of(lower(quantize_post_training(chosen, inputs, options.quantize))));
  EXPECT_FALSE(search.in_float.accuracy.has_value());
  EXPECT_LE(search.chosen.bytes, 400);
  expect_mentions(
      message_of<InvalidArgument>([&] { search_bits_for_drop(model, data, 1.0, options); }),
      "expected class labels of one output, found targets for 3 in 'three'");
  expect_mentions(message_of<InvalidArgument>([&] { search_bits(model, data, 400); }),
                  "BitSearch: expected a loss for each of the 3 outputs of model \"two\"");
}

TEST(BitSearch, TargetsMayBeNumbers) {
  const Dataset data = Dataset::from_tensors("numbers", clouds(90).features(0, 90),
                                             Tensor::arange(90).reshape({90, 1}));
  Sequential model("regression", Input({6}), Dense(8, Activation::relu), Dense(1));
  model.build(2);
  const BitSearch search = search_bits(model, data, 200, {.loss = mean_squared_error()});
  EXPECT_FALSE(search.in_float.accuracy.has_value());
  EXPECT_FALSE(search.chosen.measured->accuracy.has_value());
  EXPECT_LE(search.chosen.bytes, 200);
  expect_mentions(bit_curve_svg(search, "numbers"), ">loss</text>");
}

}  // namespace
}  // namespace octet::test::bit_search_test
