#include <octet/compress/adaround.h>
#include <octet/compress/soft_rounding.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/quantize.h>
#include <octet/layers/layers.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/layers/quantize/random_convolutions.h>
#include <octet/tests/layers/quantize/same_as_shipped.h>
#include <octet/train/evaluate.h>

#include <cmath>

namespace octet::test::adaround_test {
namespace {

std::vector<std::int8_t> codes_of(const Layer& layer) {
  const Tensor kernel = layer.weights()->kernel;
  std::vector<std::int8_t> codes(static_cast<std::size_t>(kernel.size()));
  quantize(kernel.span(), kernel.shape().dims(), layer.kernel_quantizer()->params(), codes);
  return codes;
}

QuantParams four_bits(float scale) {
  return {.scales = {scale}, .zero_points = {0}, .qmin = -7, .qmax = 7};
}

TEST(SoftRounding, StartsAtTheWeightsAndLeavesThoseOutsideTheGrid) {
  const Tensor kernel = Tensor::from({1, 6}, {0.26F, -0.34F, 0.5F, 0.0F, 5.0F, -0.75F});
  const SoftRounding rounding(kernel, four_bits(0.1F));
  const Tensor soft = rounding.kernel({});
  for (const Index i : {0, 1, 2, 3}) EXPECT_NEAR(soft.data()[i], kernel.data()[i], 1e-6F);
  EXPECT_FLOAT_EQ(soft.data()[4], 0.7F);
  EXPECT_FLOAT_EQ(soft.data()[5], -0.7F);
  EXPECT_EQ(rounding.nearest(), (std::vector<std::int8_t>{3, -3, 5, 0, 7, -7}));
  Tensor v = rounding.v();
  std::ranges::fill(v.mutable_span(), 9.0F);
  EXPECT_EQ(rounding.learned(), (std::vector<std::int8_t>{3, -3, 6, 1, 7, -7}));
  std::ranges::fill(v.mutable_span(), -9.0F);
  EXPECT_EQ(rounding.learned(), (std::vector<std::int8_t>{2, -4, 5, 0, 7, -7}));
}

TEST(SoftRounding, HasTheGradientOfItsFormula) {
  const Tensor kernel = random_tensor({5, 4}, 1, -0.9F, 0.9F);
  const QuantParams params{.scales = {0.1F, 0.2F, 0.15F, 0.05F},
                           .zero_points = {0, 0, 0, 0},
                           .quantized_dimension = 1,
                           .qmin = -8,
                           .qmax = 7};
  const SoftRounding rounding(kernel, params);
  const Tensor upstream = random_tensor({5, 4}, 2, -1.0F, 1.0F);
  for (const int exponent : {2, 3, 20}) {
    const RoundingRegularizer regularizer{0.3F, exponent};
    Tensor v = rounding.v();
    v.zero_grad();
    Tensor soft = rounding.kernel(regularizer);
    soft.backward(upstream);
    const auto loss = [&](std::size_t i, double at) {
      const double h = std::clamp(1.2 / (1.0 + std::exp(-at)) - 0.1, 0.0, 1.0);
      const double s = params.scales[i % 4];
      const double below = std::floor(kernel.span()[i] / params.scales[i % 4]);
      if (below < -8.0 || below + 1.0 > 7.0) return 0.0;
      return upstream.span()[i] * s * (below + h) +
             0.3 * (1.0 - std::pow(std::abs(2.0 * h - 1.0), exponent));
    };
    for (std::size_t i = 0; i < 20; ++i) {
      const double at = v.span()[i];
      const double slope = (loss(i, at + 1e-4) - loss(i, at - 1e-4)) / 2e-4;
      EXPECT_NEAR(v.grad().span()[i], slope, 1e-3 * std::max(1.0, std::abs(slope))) << i;
    }
  }
}

TEST(SoftRounding, RefusesOtherGrids) {
  const Tensor kernel = Tensor::zeros({3, 4});
  EXPECT_TRUE(SoftRounding::takes(kernel, four_bits(1.0F)));
  QuantParams shifted = four_bits(1.0F);
  shifted.zero_points = {1};
  QuantParams by_row{.scales = {1.0F, 1.0F, 1.0F}, .zero_points = {0, 0, 0}, .qmin = -7, .qmax = 7};
  QuantParams wide{.scales = {1.0F}, .zero_points = {0}, .qmin = -300, .qmax = 300};
  for (const QuantParams& params : {shifted, by_row, wide}) {
    EXPECT_FALSE(SoftRounding::takes(kernel, params));
    EXPECT_THROW(SoftRounding(kernel, params), InvalidArgument);
  }
}

/// The least error of one unit over all ways to round its weights up or down.
double least_error(const Tensor& x, const Tensor& kernel, float scale, const Tensor& target) {
  const auto n = static_cast<std::size_t>(kernel.size());
  double least = INFINITY;
  for (std::uint32_t way = 0; way < (1U << n); ++way) {
    double sum = 0.0;
    for (Index row = 0; row < x.dim(0); ++row) {
      double y = 0.0;
      for (std::size_t i = 0; i < n; ++i) {
        const double code = std::floor(kernel.span()[i] / scale) + double((way >> i) & 1U);
        y += x.data()[row * kernel.size() + static_cast<Index>(i)] * std::clamp(code, -7.0, 7.0) *
             scale;
      }
      sum += std::pow(y - target.data()[row], 2);
    }
    least = std::min(least, sum / static_cast<double>(x.dim(0)));
  }
  return least;
}

TEST(AdaRound, FindsAboutTheBestOfAllRoundingsOfAUnit) {
  double nearest = 0.0;
  double learned = 0.0;
  double best = 0.0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const Sequential source =
        build_model(Input({9}), Dense(1, Activation::none, DenseOptions{.name = "end"}));
    Tensor kernel = source.layer("end").weights()->kernel;
    std::ranges::copy(random_tensor({9, 1}, seed, -1.0F, 1.0F).span(), kernel.mutable_data());
    // Inputs that go together, so that errors add up.
    Tensor x = random_tensor({64, 9}, seed + 1, 0.0F, 1.0F);
    for (Index i = 0; i < x.size(); ++i)
      x.mutable_data()[i] = 0.2F * x.data()[i] + x.data()[i / 9 * 9];
    Model model = quantize_post_training(source, x, {.weight_bits = 4});
    const Layer& layer = model.layer("quant_end");
    const float scale = layer.kernel_quantizer()->params().scales[0];
    Tensor seen;
    model.forward_all({&x, 1}, [&](std::size_t i, const std::vector<Tensor>& steps) {
      if (model.layers()[i]->name() == "quantize_layer") seen = steps.back();
    });
    best += least_error(seen, kernel.clone(), scale, source.forward(x));
    const AdaRounding report = adaround(model, x, {.steps = 2000, .seed = seed});
    ASSERT_EQ(report.rounded.size(), 1U);
    nearest += report.rounded[0].nearest_error;
    learned += report.rounded[0].learned_error;
    EXPECT_GE(report.rounded[0].learned_error, 0.0);
  }
  EXPECT_LT(learned, 1.5 * best);
  EXPECT_GT(nearest, 3.0 * best);
}

/// Images to classes: batch normalization, a depthwise and a grouped convolution, a Dense layer.
Sequential images_net() {
  Sequential model = build_model(
      Input({7, 6, 2}), Conv2D(6, 3, Activation::none, {.use_bias = false, .name = "conv"}),
      BatchNorm(), ReLU(), DepthwiseConv2D(2, Activation::relu6, {.name = "depthwise"}),
      Conv2D(4, 2, Activation::relu, {.groups = 2, .name = "grouped"}), Flatten(),
      Dense(5, Activation::softmax, DenseOptions{.name = "end"}));
  for (int i = 0; i < 20; ++i) model.forward(images_for(model, 16, 3), training());
  return model;
}

class AdaRoundOf : public ::testing::TestWithParam<QuantizeOptions> {};

TEST_P(AdaRoundOf, ShipsWhatItEvaluatesOnAScaleThatDoesNotMove) {
  const Sequential source = images_net();
  const Tensor x = images_for(source, 60, 4);
  Model model = quantize_post_training(source, x, GetParam());
  const Model before(model);
  const AdaRounding report = adaround(model, x, {.steps = 300});
  ASSERT_EQ(report.rounded.size(), 4U);
  EXPECT_TRUE(report.left_out.empty());
  std::size_t moved_layers = 0;
  for (const RoundedLayer& rounded : report.rounded) {
    SCOPED_TRACE(rounded.layer);
    const Layer& layer = model.layer(rounded.layer);
    const Layer& was = before.layer(rounded.layer);
    const std::vector<std::int8_t> codes = codes_of(layer);
    const std::vector<std::int8_t> old = codes_of(was);
    const QuantParams params = layer.kernel_quantizer()->params();
    EXPECT_EQ(params, was.kernel_quantizer()->params());
    std::size_t moved = 0;
    const Tensor kernel = layer.weights()->kernel;
    const Tensor old_kernel = was.weights()->kernel;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const float scale = params.scales[params.scales.size() == 1 ? 0 : i % params.scales.size()];
      if (codes[i] == old[i]) {
        EXPECT_EQ(kernel.span()[i], old_kernel.span()[i]);
        continue;
      }
      ++moved;
      EXPECT_EQ(std::abs(codes[i] - old[i]), 1);
      EXPECT_NEAR(kernel.span()[i] / scale, float(codes[i]), 1e-4F);
      EXPECT_LT(std::abs(old_kernel.span()[i] / scale - float(codes[i])), 1.0F);
    }
    EXPECT_EQ(rounded.moved, double(moved) / double(codes.size()));
    moved_layers += moved > 0 ? 1 : 0;
  }
  EXPECT_GT(moved_layers, 1U);
  if (GetParam().simulation == Simulation::integer) {
    expect_same_as_shipped(model, x);
  }
  // Neither calibration nor evaluation moves the scales.
  const Tensor y = model.forward(x);
  Model again(model);
  refresh_kernel_ranges(again);
  EXPECT_TRUE(std::ranges::equal(again.forward(x).span(), y.span()));
  // A training pass with ranges as they are computes the same.
  Model training_on(model);
  freeze_ranges(training_on, true);
  EXPECT_TRUE(std::ranges::equal(training_on.forward(x, training()).span(), y.span()));
  calibrate(again, x);
  for (const RoundedLayer& rounded : report.rounded) {
    EXPECT_EQ(codes_of(again.layer(rounded.layer)), codes_of(model.layer(rounded.layer)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Options, AdaRoundOf,
    ::testing::Values(QuantizeOptions{.weight_bits = 4},
                      QuantizeOptions{.weight_bits = 3, .per_channel = true},
                      QuantizeOptions{.weight_bits = 2, .full_weight_grid = true},
                      QuantizeOptions{.rounding = Rounding::double_rounding,
                                      .weight_bits = 4,
                                      .weight_calibration = Calibration::min_max},
                      QuantizeOptions{.weight_bits = 4,
                                      .weight_scales = Scales::lsq,
                                      .activation_scales = Scales::lsq},
                      QuantizeOptions{.simulation = Simulation::fake_quant, .weight_bits = 4}));

TEST(AdaRound, IsTheSameOnAnyNumberOfThreadsAndAnotherWithAnotherSeed) {
  const test::KeepThreads keep;
  const Sequential source = images_net();
  const Tensor x = images_for(source, 60, 4);
  const auto run = [&](int threads, std::uint64_t seed) {
    set_num_threads(threads);
    Model model = quantize_post_training(source, x, {.weight_bits = 3});
    adaround(model, x, {.steps = 60, .seed = seed});
    std::vector<float> all;
    for (const auto& [name, tensor] : model.parameters()) {
      all.insert(all.end(), tensor.span().begin(), tensor.span().end());
    }
    return all;
  };
  const std::vector<float> first = run(1, 0);
  EXPECT_EQ(run(2, 0), first);
  EXPECT_EQ(run(5, 0), first);
  EXPECT_NE(run(1, 1), first);
}

TEST(AdaRound, TakesTheFloatNetworkFromAReference) {
  const Sequential source = images_net();
  const Tensor x = images_for(source, 60, 4);
  const Model before = quantize_post_training(source, x, {.weight_bits = 3});
  Model model(before);
  const AdaRounding report = adaround(model, x, {.steps = 200});
  // Without the reference, the model's own new weights are taken for the float network.
  Model corrected(model);
  const BiasCorrection with = correct_biases(corrected, before, x);
  Model other(model);
  const BiasCorrection without = correct_biases(other, x);
  EXPECT_NE(with.corrected, without.corrected);
  Model again(before);
  EXPECT_EQ(adaround(again, before, x, {.steps = 200}).rounded, report.rounded);
}

TEST(AdaRound, NamesWhatItLeavesOut) {
  Sequential source =
      build_model(Input({4, 4, 2}), TransposedConv2D(3, 2, Activation::relu, {.name = "up"}),
                  Flatten(), in_float(Dense(6, Activation::relu, DenseOptions{.name = "real"})),
                  Dense(2, Activation::none, DenseOptions{.name = "end"}));
  const Tensor x = images_for(source, 20, 1);
  Model model = quantize_post_training(source, x, {.weight_bits = 4});
  const AdaRounding report = adaround(model, x, {.steps = 50});
  ASSERT_EQ(report.left_out.size(), 2U);
  EXPECT_EQ(report.left_out[0].layer, "quant_up");
  EXPECT_NE(report.left_out[0].reason.find("order"), std::string::npos);
  EXPECT_EQ(report.left_out[1].layer, "real");
  EXPECT_NE(report.left_out[1].reason.find("quantized"), std::string::npos);
  ASSERT_EQ(report.rounded.size(), 1U);
  EXPECT_EQ(report.rounded[0].layer, "quant_end");
}

TEST(AdaRound, RefusesByName) {
  const Sequential source = build_model(Input({4}), Dense(3));
  const Tensor x = random_tensor({6, 4}, 1);
  Sequential floats(source);
  expect_throws<InvalidArgument>([&] { adaround(floats, x); }, {"adaround", "in float"});
  Model model = quantize_post_training(source, x);
  const auto refuses = [&](const AdaRoundOptions& options, const std::string& what) {
    expect_throws<InvalidArgument>([&] { adaround(model, x, options); }, {"adaround", what});
  };
  refuses({.steps = 0}, "steps");
  refuses({.batch_size = 0}, "batch");
  refuses({.learning_rate = 0.0F}, "learning rate");
  refuses({.learning_rate = kNan}, "learning rate");
  refuses({.regularization = -1.0F}, "regularization");
  refuses({.warm_up = 1.5F}, "warm-up");
  refuses({.last_exponent = 1}, "last exponent");
  refuses({.first_exponent = 4, .last_exponent = 5}, "first exponent");
  Tensor broken = x.clone();
  broken.mutable_data()[0] = kNan;
  EXPECT_THROW(adaround(model, broken), NumericError);
}

}  // namespace
}  // namespace octet::test::adaround_test
