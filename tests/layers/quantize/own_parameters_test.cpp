#include <octet/core/autograd.h>
#include <octet/core/ops/ops.h>
#include <octet/core/quant/activation_range.h>
#include <octet/deploy/layer_codes.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/leaky_relu.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantize_tensor.h>
#include <octet/layers/quantize/quantizer_registry.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

#include <algorithm>
#include <array>
#include <cmath>

// Gradients of parameters that layers and quantizers of a user's own have, on integers.

namespace octet::test::own_parameters_test {
namespace {

/// Learned step size quantization (Esser et al., ICLR 2020) around `zero_point`: the scale is a
/// parameter, its gradient that of LSQ without a factor.
class Lsq : public ScaleRule {
 public:
  Lsq(float scale, Index zero_point)
      : scale_(Tensor::scalar(scale).set_requires_grad(true)),
        zero_point_(static_cast<std::int32_t>(zero_point)) {}
  Lsq(const Lsq& other)
      : ScaleRule(other), scale_(clone_leaf(other.scale_)), zero_point_(other.zero_point_) {}
  std::string_view type() const override { return "OwnTest.Lsq"; }
  void describe(Description& description) const override {
    description.set("scale", double{scale_.item()}).set("zero_point", zero_point_);
  }
  QuantParams params() const override {
    const std::int32_t lowest = spec().narrow_range ? -127 : -128;
    return QuantParams::per_tensor(scale_.item(), zero_point_, lowest, 127);
  }
  std::vector<NamedTensor> parameters() const override { return {{"scale", scale_}}; }
  LearnedRange learned_range() const override {
    const QuantParams grid = params();
    return {{scale_}, [grid](const Tensor& x, const Tensor& upstream) {
              return std::vector<Tensor>{Tensor::scalar(gradient(grid, x, upstream))};
            }};
  }
  std::unique_ptr<ScaleRule> clone() const override { return std::make_unique<Lsq>(*this); }

  static float gradient(const QuantParams& grid, const Tensor& x, const Tensor& upstream) {
    double sum = 0.0;
    for (std::size_t i = 0; i < x.span().size(); ++i) {
      const double steps = double{x.span()[i]} / double{grid.scale()};
      const double lo = grid.qmin - grid.zero_point();
      const double hi = grid.qmax - grid.zero_point();
      const double d = steps <= lo ? lo : steps >= hi ? hi : std::round(steps) - steps;
      sum += d * double{upstream.span()[i]};
    }
    return static_cast<float>(sum);
  }

 private:
  Tensor scale_;
  std::int32_t zero_point_;
};

/// Says that its scale is learned, and not how.
class Unlearnable : public Lsq {
 public:
  using Lsq::Lsq;
  std::string_view type() const override { return "Unlearnable"; }
  LearnedRange learned_range() const override { return {}; }
  std::unique_ptr<ScaleRule> clone() const override { return std::make_unique<Unlearnable>(*this); }
};

constexpr QuantSpec kKernelSpec{.narrow_range = true, .symmetric = true};

template <class Rule>
std::unique_ptr<Quantizer> learned_by(const QuantSpec& spec, float scale, std::int32_t zero_point) {
  return std::make_unique<Quantizer>(spec, std::make_unique<FixedObserver>(-1.0F, 1.0F),
                                     std::make_unique<Rule>(scale, zero_point));
}

template <class Rule>
std::shared_ptr<CustomConfig> learned(QuantizeOptions options = {}) {
  auto config = std::make_shared<CustomConfig>(options);
  config->kernel = [] { return learned_by<Rule>(kKernelSpec, 0.01F, 0); };
  config->activation = [] { return learned_by<Rule>(QuantSpec{}, 0.0237F, -100); };
  config->output = [] { return learned_by<Rule>(QuantSpec{}, 0.015F, -128); };
  return config;
}

TEST(OwnParameters, ScalesOfADenseLayerGetTheGradientOfWhatTheyRound) {
  QuantizeWrapper wrapper(std::make_unique<Dense>(3, Activation::none, "d"), learned<Lsq>());
  wrapper.build({4}, Random(1));
  // Some weights and some results lie beyond their grids.
  for (float& v : wrapper.weights()->kernel.mutable_span()) v *= 4.0F;
  const Tensor x = on_grid(Tensor::from({2, 4}, {1, -2, 3, 0, -1, 2, 1, 3}), 1.0F, 0);
  const Tensor upstream = random_tensor({2, 3}, 4);
  const Tensor kernel = wrapper.weights()->kernel.detach();
  const Quantizer& by_kernel = *wrapper.kernel_quantizer();
  const Quantizer& by_result = *wrapper.activation_quantizer();
  const Tensor rounded = no_grad([&] { return by_kernel.quantize_dequantize(kernel); });
  const Tensor real = matmul(x, rounded.detach());
  const RealLimits limits = real_limits(by_result.params());
  Tensor passed = upstream.clone();
  for (std::size_t i = 0; i < 6; ++i) {
    if (real.span()[i] < limits.lo || real.span()[i] > limits.hi) passed.mutable_span()[i] = 0.0F;
  }
  EXPECT_LT(*std::ranges::min_element(real.span()), limits.lo);
  EXPECT_GT(*std::ranges::max_element(kernel.span()), 1.27F);
  const float kernel_gradient =
      Lsq::gradient(by_kernel.params(), kernel, matmul(transpose(x), passed));
  const float result_gradient = Lsq::gradient(by_result.params(), real, upstream);
  wrapper.forward(x, {}).backward(upstream);
  const auto gradient = [&](std::string_view name) {
    return tensor_named(wrapper.parameters(), name).grad().item();
  };
  EXPECT_NEAR(gradient("kernel_scale"), kernel_gradient, 1e-3F * std::abs(kernel_gradient));
  EXPECT_NEAR(gradient("post_activation_scale"), result_gradient,
              1e-3F * std::abs(result_gradient));
}

TEST(OwnParameters, ScalesThatAreLearnedMoveAndAreShipped) {
  Sequential net("m", Input({6}));
  net.add(quantize_annotate_layer(Dense(8, Activation::relu, "a"), learned<Lsq>()));
  net.add(quantize_annotate_layer(LeakyReLU(0.1F, "leak"), learned<Lsq>()));
  net.add(quantize_annotate_layer(Dense(3, Activation::none, "b"), learned<Lsq>()));
  net.build(3);
  Sequential model = quantize_apply(net);
  std::vector<NamedTensor> scales;
  for (const NamedTensor& parameter : model.parameters()) {
    if (parameter.name.ends_with("scale")) scales.push_back(parameter);
  }
  ASSERT_EQ(names_of(scales),
            (std::vector<std::string>{"quant_a/kernel_scale", "quant_a/post_activation_scale",
                                      "quant_leak/output_scale", "quant_b/kernel_scale",
                                      "quant_b/post_activation_scale"}));
  std::vector<float> before;
  before.reserve(scales.size());
  for (const auto& [name, tensor] : scales) before.push_back(tensor.item());
  for (std::uint64_t step = 0; step < 5; ++step) {
    model.zero_grad();
    const Tensor y = model.forward(random_tensor({9, 6}, step, -2.0F, 2.0F), training(step));
    mean(square(y - random_tensor(y.shape(), step + 50))).backward();
    for (auto& [name, tensor] : model.parameters()) {
      ASSERT_TRUE(tensor.grad().defined()) << name;
      const Tensor gradient = tensor.grad();
      const float rate = name.ends_with("scale") ? 1e-5F : 0.01F;
      for (std::size_t i = 0; i < tensor.span().size(); ++i) {
        tensor.mutable_span()[i] -= rate * gradient.span()[i];
      }
    }
  }
  for (std::size_t i = 0; i < scales.size(); ++i) {
    EXPECT_NE(scales[i].tensor.item(), before[i]) << scales[i].name;
    EXPECT_GT(scales[i].tensor.item(), 0.0F) << scales[i].name;
  }
  SimulatedCodes trained(model);
  InterpretedCodes run(from_tflite(to_tflite(lower(model))));
  const Tensor x = random_tensor({40, 6}, 99, -2.0F, 2.0F);
  trained.run(x);
  run.run(x);
  ASSERT_EQ(trained.layers().size(), run.layers().size());
  for (std::size_t i = 0; i < trained.layers().size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(trained.codes(i), run.codes(i))) << trained.layers()[i].name;
  }
}

TEST(OwnParameters, OfAnInputsQuantizerGetTheirGradient) {
  Sequential model("m", Input({3}));
  model.add(
      std::make_unique<QuantizeLayer>(learned_by<Lsq>(QuantSpec{}, 0.01F, 0), QuantizeOptions{}));
  model.build();
  const Tensor x = Tensor::from({1, 3}, {0.503F, -9.0F, 9.0F});
  model.forward(x).backward(Tensor::from({1, 3}, {100.0F, 1.0F, 10.0F}));
  // 50 - 50.3 of the first, the lowest and the highest code of the others.
  EXPECT_NEAR(model.parameters().front().tensor.grad().item(), -30.0F - 128.0F + 1270.0F, 0.01F);
}

TEST(OwnParameters, GetTheirGradientInFakeQuantizationToo) {
  const auto quantizer = learned_by<Lsq>(QuantSpec{}, 0.01F, 0);
  quantizer->build("layer/tensor", "t_", {3}, Quantizer::ZeroPoint::kept);
  Tensor x = Tensor::from({3}, {0.503F, -9.0F, 9.0F}).set_requires_grad(true);
  Tensor y = quantizer->fake_quant(x);
  EXPECT_TRUE(std::ranges::equal(y.span(), std::array{0.01F * 50, 0.01F * -128, 0.01F * 127}));
  y.backward(Tensor::from({3}, {100.0F, 1.0F, 10.0F}));
  EXPECT_TRUE(std::ranges::equal(x.grad().span(), std::array{100.0F, 0.0F, 0.0F}));
  EXPECT_NEAR(tensor_named(quantizer->parameters(), "t_scale").grad().item(),
              -30.0F - 128.0F + 1270.0F, 0.01F);
}

TEST(OwnParameters, OfARegisteredRuleAreMadeAnew) {
  const auto quantizer = learned_by<Lsq>(kKernelSpec, 0.25F, 3);
  expect_throws<InvalidArgument>([&] { describe(quantizer.get()); },
                                 {"register_scale_rule<", "OwnTest.Lsq"});
  register_scale_rule<Lsq>("OwnTest.Lsq", [](const Description& d) {
    return std::make_unique<Lsq>(d.float_number("scale"), d.integer("zero_point"));
  });
  const auto made = make_quantizer(describe(quantizer.get()));
  EXPECT_EQ(made->type(), "OwnTest.Lsq");
  EXPECT_EQ(made->observer().type(), "Fixed");
  EXPECT_EQ(describe(made.get()).to_json(), describe(quantizer.get()).to_json());
}

TEST(OwnParameters, WithoutGradientsAreRefusedOnIntegers) {
  for (const bool integer : {true, false}) {
    const QuantizeOptions options{.simulation =
                                      integer ? Simulation::integer : Simulation::fake_quant};
    QuantizeWrapper wrapper(std::make_unique<Dense>(3, Activation::none, "d"),
                            learned<Unlearnable>(options));
    QuantizeLayer input(learned_by<Unlearnable>(QuantSpec{}, 0.01F, 0), options, "in");
    if (!integer) {
      EXPECT_NO_THROW(wrapper.build({4}, Random()));
      EXPECT_NO_THROW(input.build({4}, Random()));
      continue;
    }
    expect_throws<InvalidArgument>([&] { wrapper.build({4}, Random()); },
                                   {"quant_d/kernel", "Unlearnable", "learned_range()"});
    expect_throws<InvalidArgument>([&] { input.build({4}, Random()); },
                                   {"in", "Unlearnable", "learned_range()"});
  }
}

}  // namespace
}  // namespace octet::test::own_parameters_test
