#include <octet/compress/adaround.h>
#include <octet/compress/post_training.h>
#include <octet/core/parallel.h>
#include <octet/layers/batch_norm.h>
#include <octet/layers/global_pool2d.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/layers/quantize/random_convolutions.h>
#include <octet/tests/layers/quantize/random_graphs.h>
#include <octet/tests/layers/quantize/same_as_shipped.h>

#include <cmath>
#include <map>

namespace octet::test::bias_correction_test {
namespace {

using Numbers = std::vector<double>;

Numbers numbers(const Tensor& tensor) {
  const std::span<const float> values = tensor.span();
  return {values.begin(), values.end()};
}

/// x W + b, row by row: x [rows, inputs], W [inputs, units].
Numbers naive_dense(const Numbers& x, const Numbers& kernel, const Numbers& bias) {
  const std::size_t units = bias.size();
  const std::size_t inputs = kernel.size() / units;
  Numbers y;
  for (std::size_t row = 0; row < x.size() / inputs; ++row) {
    for (std::size_t u = 0; u < units; ++u) {
      double sum = bias[u];
      for (std::size_t i = 0; i < inputs; ++i) sum += x[row * inputs + i] * kernel[i * units + u];
      y.push_back(sum);
    }
  }
  return y;
}

/// The weights of a Dense layer as its file holds them, times their scale, one per unit.
Numbers naive_codes(const Numbers& kernel, const QuantParams& params) {
  Numbers result;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const double scale = params.scales[i % params.scales.size()];
    const double code = std::round(kernel[i] / scale);
    result.push_back(std::clamp<double>(code, params.qmin, params.qmax) * scale);
  }
  return result;
}

/// What layer `i` of a model reads.
Numbers read_by(const Model& model, std::size_t i, const Tensor& x) {
  Numbers result;
  model.forward_all({&x, 1}, [&](std::size_t layer, const std::vector<Tensor>& steps) {
    if (layer == model.inputs_of(i).front()) result = numbers(steps.back());
  });
  return result;
}

TEST(BiasCorrection, TakesTheMeanErrorOfNaiveLoopsOffEachBias) {
  const Sequential source =
      build_model(Input({5}), Dense(7, Activation::relu, DenseOptions{.name = "a"}),
                  Dense(3, Activation::softmax, DenseOptions{.name = "b"}));
  const Tensor x = random_tensor({9, 5}, 3, -1.0F, 2.0F);
  Model model = quantize_post_training(source, x, {.weight_bits = 3, .per_channel = true});
  const Model before(model);
  const BiasCorrection report = correct_biases(model, x);

  Numbers x_float = numbers(x);
  ASSERT_EQ(report.corrected.size(), 2U);
  EXPECT_TRUE(report.left_out.empty());
  for (std::size_t i = 0; i < 2; ++i) {
    const Layer& layer = *model.layers()[i + 2];
    SCOPED_TRACE(layer.name());
    const LayerWeights weights = *before.layers()[i + 2]->weights();
    const Numbers kernel = numbers(weights.kernel);
    const Numbers bias = numbers(weights.bias);
    // The layers in front are corrected by now.
    const Numbers y = naive_dense(read_by(model, i + 2, x),
                                  naive_codes(kernel, layer.kernel_quantizer()->params()), bias);
    Numbers expected = naive_dense(x_float, kernel, bias);
    double largest = 0.0;
    double squares = 0.0;
    for (std::size_t u = 0; u < bias.size(); ++u) {
      double error = 0.0;
      for (std::size_t row = u; row < y.size(); row += bias.size()) error += y[row] - expected[row];
      error /= 9.0;
      EXPECT_NEAR(layer.weights()->bias.span()[u], bias[u] - error, 1e-5);
      largest = std::max(largest, std::abs(error));
      squares += error * error;
    }
    EXPECT_EQ(report.corrected[i].layer, layer.name());
    EXPECT_NEAR(report.corrected[i].largest_error, largest, 1e-5);
    EXPECT_NEAR(report.corrected[i].error, std::sqrt(squares / double(bias.size())), 1e-5);
    EXPECT_GT(largest, 1e-3);
    for (double& v : expected) v = std::max(v, 0.0);
    x_float = expected;
  }
}

/// The mean error of each layer that has a bias is gone where `reference` is what it was.
void expect_no_error_left(const Model& corrected, const Model& reference, const Tensor& x) {
  Model again(corrected);
  for (const CorrectedBias& layer : correct_biases(again, reference, x).corrected) {
    EXPECT_LT(layer.largest_error, 2e-5) << layer.layer;
  }
}

TEST(BiasCorrection, LeavesNoMeanErrorInRandomConvolutionsAndShipsWhatItLeaves) {
  std::size_t corrected = 0;
  std::size_t left_out = 0;
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Sequential source = seed % 4 == 3   ? random_transposed_net(seed)
                              : seed % 4 == 2 ? random_sequences_net(seed)
                                              : random_images_net(seed);
    const Tensor x = images_for(source, 12, seed);
    Model model = quantize_post_training(
        source, x,
        {.simulation = seed % 5 == 4 ? Simulation::fake_quant : Simulation::integer,
         .weight_bits = 2 + static_cast<int>(seed % 4)});
    const Model reference(model);
    const BiasCorrection report = correct_biases(model, x);
    corrected += report.corrected.size();
    left_out += report.left_out.size();
    expect_no_error_left(model, reference, x);
    if (seed % 5 == 4) continue;
    expect_same_as_shipped(model, x);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(corrected, 60U);
  EXPECT_GT(left_out, 10U);
}

TEST(BiasCorrection, FollowsTheGraph) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraph graph(seed);
    const Tensor x = graph.batch(20);
    Model model = quantize_post_training(graph.model(), x, graph.options(Rounding::fp32));
    const Model reference(model);
    correct_biases(model, x);
    expect_no_error_left(model, reference, x);
    expect_same_as_shipped(model, x);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

Sequential normalized_images() {
  Sequential model = build_model(
      Input({6, 5, 2}), Conv2D(6, 3, Activation::none, {.use_bias = false, .name = "conv"}),
      BatchNorm(), ReLU(), DepthwiseConv2D(2, Activation::none, {.name = "depthwise"}), BatchNorm(),
      ReLU(), GlobalAveragePool2D(), Dense(3, Activation::none, DenseOptions{.name = "end"}));
  for (int i = 0; i < 5; ++i) model.forward(images_for(model, 16, 3), training());
  return model;
}

TEST(BiasCorrection, OfBatchNormalizationIsThatOfBeta) {
  const Sequential source = normalized_images();
  const Tensor x = images_for(source, 30, 4);
  Model model = quantize_post_training(source, x, {.weight_bits = 3});
  const Model reference(model);
  const auto count = [](const Tensor& a, const Tensor& b) {
    return std::ranges::equal(a.span(), b.span());
  };
  const BiasCorrection report = correct_biases(model, x);
  EXPECT_TRUE(report.left_out.empty());
  for (const auto& [name, tensor] : model.parameters()) {
    const Tensor was = tensor_named(reference.parameters(), name);
    const bool moved = name.ends_with("/beta") || name == "quant_end/bias";
    EXPECT_EQ(count(tensor, was), !moved) << name;
  }
  expect_no_error_left(model, reference, x);
  expect_same_as_shipped(model, x);
}

TEST(BiasCorrection, IsTheSameOnAnyNumberOfThreads) {
  const test::KeepThreads keep;
  const Sequential source = normalized_images();
  const Tensor x = images_for(source, 100, 4);
  std::map<std::string, Numbers> first;
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    Model model = quantize_post_training(source, x, {.weight_bits = 3});
    correct_biases(model, x);
    for (const auto& [name, tensor] : model.parameters()) {
      if (threads == 1) first[name] = numbers(tensor);
      EXPECT_EQ(numbers(tensor), first[name]) << name << " on " << threads << " threads";
    }
  }
}

TEST(BiasCorrection, RefusesByName) {
  Sequential source = build_model(Input({4}), Dense(3));
  const Tensor x = random_tensor({6, 4}, 1);
  expect_throws<InvalidArgument>([&] { correct_biases(source, x); },
                                 {"correct_biases", "\"m\"", "in float"});
  Model fresh = quantize_model(source);
  expect_throws<InvalidArgument>([&] { correct_biases(fresh, x); },
                                 {"correct_biases", "\"m\"", "ranges", "calibrate()"});
  Model model = quantize_post_training(source, x);
  expect_throws<InvalidArgument>([&] { correct_biases(model, Tensor()); },
                                 {"correct_biases", "samples", "undefined"});
  expect_throws<InvalidArgument>(
      [&] {
        correct_biases(model, Tensor::zeros({0, 4}));
      },
      {"correct_biases", "samples", "[0, 4]"});
  const Sequential other = build_model(Input({4}), Dense(5));
  expect_throws<InvalidArgument>(
      [&] { correct_biases(model, quantize_post_training(other, x), x); },
      {"correct_biases", "reference", "quant_dense"});
  expect_throws<InvalidArgument>([&] { correct_biases(model, source, x); },
                                 {"correct_biases", "reference of 3 layers", "found 2"});
  Tensor broken = x.clone();
  broken.mutable_data()[0] = kNan;
  EXPECT_THROW(correct_biases(model, broken), NumericError);
}

TEST(BiasCorrection, OfAModelOfTwoInputsTakesATensorForEach) {
  Model two("two");
  const Value a = two.add(Dense(3, Activation::relu), two.input({2}));
  const Value b = two.add(Dense(3, Activation::relu), two.input({4}));
  two.output(two.add(Dense(2), two.add(Add(), {a, b})));
  two.build();
  const std::vector<Tensor> inputs = {random_tensor({64, 2}, 1), random_tensor({64, 4}, 2)};
  Model quantized = quantize_post_training(two, inputs, {.weight_bits = 4});
  const AdaRounding rounding = adaround(quantized, inputs, {.steps = 20});
  EXPECT_EQ(rounding.rounded.size() + rounding.left_out.size(), 3U);
  const BiasCorrection correction = correct_biases(quantized, inputs);
  ASSERT_EQ(correction.corrected.size(), 3U);
  EXPECT_GT(correction.corrected[0].largest_error, 0.0);
  expect_throws<InvalidArgument>([&] { correct_biases(quantized, inputs[0]); },
                                 {"correct_biases", "\"two\"", "2 inputs", "found 1"});
  const std::vector<Tensor> unlike = {inputs[0], random_tensor({63, 4}, 2)};
  expect_throws<InvalidArgument>([&] { correct_biases(quantized, unlike); },
                                 {"correct_biases", "one batch size", "64", "63"});
}

}  // namespace
}  // namespace octet::test::bias_correction_test
