#include <octet/core/parallel.h>
#include <octet/layers/quantize/weight_codes.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/layers/quantize/random_convolutions.h>
#include <octet/tests/layers/quantize/random_nets.h>
#include <octet/tests/layers/quantize/same_as_shipped.h>

#include <array>
#include <cmath>
#include <set>
#include <string>

// What is trained with learned scales is what is shipped.

namespace octet::test::learned_equality_test {
namespace {

constexpr std::array kActivationScales = {Scales::lsq, Scales::lsq_plus, Scales::pact};

/// Every width, granularity and way to learn.
QuantizeOptions options_of(std::uint32_t seed) {
  return {.rounding = kContracts[seed % 3],
          .weight_bits = 2 + static_cast<int>(seed % 7),
          .per_channel = seed % 2 == 0,
          .weight_scales = Scales::lsq,
          .activation_scales = kActivationScales[seed / 3 % 3]};
}

/// Moves every learned scale to a power of two, where ties are common.
void round_scales(Model& model) {
  for (auto& [name, tensor] : model.parameters()) {
    const bool is_clip = name.ends_with("_clip");
    if (!name.ends_with("_step") && !is_clip) continue;
    const float steps = is_clip ? 255.0F : 1.0F;
    for (float& v : tensor.mutable_span()) {
      v = std::exp2(std::round(std::log2(std::abs(v) / steps + 1e-6F))) * steps;
    }
  }
}

/// Holds a trained model against its file with its own scales and with powers of two.
void expect_ships(Model& model, const Tensor& x) {
  expect_same_as_shipped(model, x);
  if (::testing::Test::HasFatalFailure()) return;
  round_scales(model);
  expect_same_as_shipped(model, x);
}

TEST(LearnedEquality, OfDenseNetworks) {
  std::set<std::string> learned;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomNet net(seed);
    Model model = quantize_model(net.model(), options_of(seed));
    calibrate(model, net.batch(17));
    train_a_little(model, 3, [&] { return net.batch(9); });
    if (HasFatalFailure()) return;
    for (const auto& layer : model.layers()) {
      for (const Quantizer* each : layer->quantizers()) learned.emplace(each->type());
    }
    expect_ships(model, net.batch(11));
    if (HasFatalFailure()) return;
  }
  for (const char* type : {"Lsq", "LsqPlus", "Pact"}) EXPECT_TRUE(learned.contains(type)) << type;
}

TEST(LearnedEquality, OfConvolutions) { for_random_convolutions(60, options_of, expect_ships); }

/// A trained model of a Dense layer, a convolution and a depthwise one.
Model trained_images_net(const QuantizeOptions& options) {
  Sequential net("m", Input({6, 6, 3}, "in"));
  net.add(Conv2D(5, {3, 3}, Activation::relu, {.name = "conv"}));
  net.add(DepthwiseConv2D({3, 3}, Activation::none, {.name = "depthwise"}));
  net.add(Flatten());
  net.add(Dense(7, Activation::relu6, "dense"));
  net.add(Dense(3, Activation::none, "end"));
  net.build(4);
  Model model = quantize_model(static_cast<const Model&>(net), options);
  calibrate(model, images_for(model, 20, 1));
  train_a_little(model, 4, [&] { return images_for(model, 6, 2); });
  // What the last step left below the least step is put right in the parameter.
  static_cast<void>(model.forward(images_for(model, 6, 3), training()));
  return model;
}

TEST(LearnedEquality, ExportedScalesAreTheParametersToTheBit) {
  for (const bool per_channel : {false, true}) {
    const Model model = trained_images_net({.weight_bits = 4,
                                            .per_channel = per_channel,
                                            .weight_scales = Scales::lsq,
                                            .activation_scales = Scales::lsq});
    const IntegerModel shipped = from_tflite(to_tflite(lower(model)));
    std::size_t found = 0;
    for (const auto& [name, parameter] : model.parameters()) {
      if (!name.ends_with("_step")) continue;
      const std::string layer = name.substr(6, name.find('/') - 6);  // without "quant_"
      const bool is_kernel = name.ends_with("kernel_step");
      for (const ModelTensor& tensor : shipped.tensors) {
        if (tensor.name != (is_kernel ? layer + "/kernel" : layer)) continue;
        EXPECT_TRUE(std::ranges::equal(tensor.quantization.scales, parameter.span())) << name;
        ++found;
      }
    }
    EXPECT_EQ(found, 8U);
  }
}

TEST(LearnedEquality, FakeQuantizedKernelsAreThoseOfTheIntegers) {
  const Model model = trained_images_net({.weight_bits = 3, .weight_scales = Scales::lsq});
  for (const auto& layer : model.layers()) {
    const Quantizer* kernel = layer->kernel_quantizer();
    if (kernel == nullptr) continue;
    const LayerWeights weights = *layer->weights();
    const WeightCodes codes = make_weight_codes(weights, kernel->params(), 1.0F, layer->name());
    const Tensor rounded = kernel->fake_quant(weights.kernel.detach());
    const std::vector<std::int8_t> units_first = codes.weights.unpack();
    const auto units = static_cast<std::size_t>(weights.kernel.dim(-1));
    const std::size_t taps = units_first.size() / units;
    for (std::size_t i = 0; i < units_first.size(); ++i) {
      const float scale = kernel->params().scale(kernel->params().per_channel() ? i / taps : 0);
      ASSERT_EQ(rounded.span()[i % taps * units + i / taps],
                scale * static_cast<float>(units_first[i]));
    }
  }
}

TEST(LearnedEquality, OfAnyNumberOfThreads) {
  const octet::test::KeepThreads keep;
  std::vector<std::vector<float>> expected;
  for (int threads = 1; threads <= 4; ++threads) {
    set_num_threads(threads);
    std::vector<std::vector<float>> found;
    for (const Scales scales : kActivationScales) {
      Sequential net("m", Input({64, 64, 3}, "in"));
      net.add(Conv2D(16, {3, 3}, Activation::relu, {.strides = {2, 2}, .name = "conv"}));
      net.add(Flatten());
      net.add(Dense(40, Activation::none, "end"));
      net.build(4);
      Model model = quantize_model(static_cast<const Model&>(net), {.weight_bits = 4,
                                                                    .per_channel = true,
                                                                    .weight_scales = Scales::lsq,
                                                                    .activation_scales = scales});
      calibrate(model, images_for(model, 8, 1));
      train_a_little(model, 2, [&] { return images_for(model, 8, 2); });
      for (const auto& [name, tensor] : model.parameters()) found.push_back(values_of(tensor));
    }
    if (threads == 1) expected = found;
    EXPECT_EQ(found, expected) << threads;
  }
}

TEST(LearnedEquality, OfStepsThatAHugeRateDroveBelowZero) {
  Model model = trained_images_net({.weight_bits = 4,
                                    .per_channel = true,
                                    .weight_scales = Scales::lsq,
                                    .activation_scales = Scales::lsq});
  std::size_t negative = 0;
  for (std::uint64_t step = 0; step < 6; ++step) {
    model.zero_grad();
    mean(square(model.forward(images_for(model, 6, step), training(step)))).backward();
    for (auto& [name, tensor] : model.parameters()) {
      if (!name.ends_with("_step")) continue;
      const Tensor gradient = tensor.grad();
      for (std::size_t i = 0; i < tensor.span().size(); ++i) {
        tensor.mutable_span()[i] -= 1e4F * gradient.span()[i];
        negative += tensor.span()[i] < 0.0F ? 1 : 0;
      }
    }
    for (const auto& layer : model.layers()) {
      for (const Quantizer* each : layer->quantizers()) {
        for (const float scale : each->params().scales) EXPECT_GT(scale, 0.0F);
      }
    }
  }
  EXPECT_GT(negative, 5U);
  // As the last step left it, and as it is saved and loaded.
  expect_same_as_shipped(model, images_for(model, 6, 50));
}

}  // namespace
}  // namespace octet::test::learned_equality_test
