#include <octet/core/ops/ops.h>
#include <octet/layers/quantize/integer_ops.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/tests/layers/quantize/integer_testing.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

// Straight-through gradients of integer simulation, by hand.

namespace octet::test::integer_gradients_test {
namespace {

/// A wrapped Dense whose kernel has codes of scale 1 and whose result lies on codes of scale 1 that
/// stand for -100 to 155, so that every number of these tests is whole.
std::unique_ptr<QuantizeWrapper> whole_numbers(Activation activation, Index inputs,
                                               const std::vector<float>& kernel,
                                               const std::vector<float>& bias) {
  const auto config = std::make_shared<CustomConfig>();
  config->kernel = unit_kernel();
  config->activation = fixed(-100.0F, 155.0F);
  auto wrapper = std::make_unique<QuantizeWrapper>(
      std::make_unique<Dense>(static_cast<Index>(bias.size()), activation, "d"), config);
  wrapper->build({inputs}, Random());
  fill(wrapper->wrapped().weights()->kernel, kernel);
  fill(wrapper->wrapped().weights()->bias, bias);
  return wrapper;
}

struct Gradients {
  Tensor x, kernel, bias, y;
};

Gradients gradients_of(QuantizeWrapper& wrapper, const Tensor& values, const Tensor& upstream) {
  const Tensor x = on_grid(leaf(values.clone()), 1.0F, 0);
  Tensor y = wrapper.forward(x, {});
  const Tensor result = y.detach();
  y.backward(upstream);
  return {x.grad(), wrapper.wrapped().weights()->kernel.grad(),
          wrapper.wrapped().weights()->bias.grad(), result};
}

TEST(IntegerGradients, ReachInputKernelAndBias) {
  const auto wrapper = whole_numbers(Activation::none, 2, {2, -3, 1, 4}, {5, 0.4F});
  const Gradients g =
      gradients_of(*wrapper, Tensor::from({1, 2}, {3, 7}), Tensor::from({1, 2}, {10, 100}));
  expect_tensor(g.y, {1, 2}, {3 * 2 + 7 * 1 + 5, 3 * -3 + 7 * 4});
  expect_tensor(g.x, {1, 2}, {10 * 2 + 100 * -3, 10 * 1 + 100 * 4});
  expect_tensor(g.kernel, {2, 2}, {10 * 3, 100 * 3, 10 * 7, 100 * 7});
  expect_tensor(g.bias, {2}, {10, 100});
}

TEST(IntegerGradients, AreThoseOfInputsThatAskedForThemBeforeTheForwardPass) {
  const auto wrapper = whole_numbers(Activation::none, 2, {2, -3, 1, 4}, {5, 0});
  Tensor x = on_grid(Tensor::from({1, 2}, {3, 7}), 1.0F, 0);
  Tensor y = wrapper->forward(x, {});
  x.set_requires_grad(true);
  y.backward(Tensor::from({1, 2}, {10, 100}));
  EXPECT_FALSE(x.grad().defined());
  expect_tensor(wrapper->wrapped().weights()->kernel.grad(), {2, 2}, {30, 300, 70, 700});
}

TEST(IntegerGradients, SumOverTheBatch) {
  const auto wrapper = whole_numbers(Activation::none, 1, {2}, {0});
  const Gradients g =
      gradients_of(*wrapper, Tensor::from({3, 1}, {1, 2, 3}), Tensor::from({3, 1}, {1, 10, 100}));
  expect_tensor(g.kernel, {1, 1}, {1 + 20 + 300});
  expect_tensor(g.bias, {1}, {111});
  expect_tensor(g.x, {3, 1}, {2, 20, 200});
}

TEST(IntegerGradients, PassWhereTheResultLiesInItsRangeInclusive) {
  const auto wrapper = whole_numbers(Activation::none, 2, {1, 1}, {0});
  // Sums 155, 156, -100, -101, 12.
  const Tensor x = Tensor::from({5, 2}, {127, 28, 127, 29, -100, 0, -100, -1, 5, 7});
  const Gradients g = gradients_of(*wrapper, x, Tensor::from({5, 1}, {1, 2, 4, 8, 16}));
  expect_tensor(g.y, {5, 1}, {155, 155, -100, -100, 12});
  expect_tensor(g.x, {5, 2}, {1, 1, 0, 0, 4, 4, 0, 0, 16, 16});
  expect_tensor(g.bias, {1}, {1 + 4 + 16});
}

TEST(IntegerGradients, PassWhereReluDoes) {
  const auto wrapper = whole_numbers(Activation::relu, 1, {1}, {0});
  const Gradients g = gradients_of(*wrapper, Tensor::from({4, 1}, {-5, 0, 1, 100}),
                                   Tensor::from({4, 1}, {1, 2, 4, 8}));
  expect_tensor(g.y, {4, 1}, {0, 0, 1, 100});
  expect_tensor(g.x, {4, 1}, {0, 0, 4, 8});
  expect_tensor(g.bias, {1}, {12});
}

TEST(IntegerGradients, PassWhereRelu6Does) {
  const auto wrapper = whole_numbers(Activation::relu6, 1, {1}, {0});
  const Gradients g = gradients_of(*wrapper, Tensor::from({5, 1}, {-5, 0, 5, 6, 7}),
                                   Tensor::from({5, 1}, {1, 2, 4, 8, 16}));
  expect_tensor(g.y, {5, 1}, {0, 0, 5, 6, 6});
  expect_tensor(g.x, {5, 1}, {0, 0, 4, 0, 0});
}

TEST(IntegerGradients, PassWhereTheKernelsCodeIsNotClamped) {
  const float end = 127.5F;
  const float above = std::nextafter(end, 1e9F);
  const auto wrapper = whole_numbers(Activation::none, 4, {end, above, -end, -above}, {0});
  const Gradients g =
      gradients_of(*wrapper, Tensor::from({1, 4}, {1, 1, 1, 1}), Tensor::ones({1, 1}));
  expect_tensor(g.y, {1, 1}, {0});
  expect_tensor(g.kernel, {4, 1}, {1, 0, 1, 0});
  // The input's gradient is that of the codes, which clip.
  expect_tensor(g.x, {1, 4}, {127, 127, -127, -127});
}

TEST(IntegerGradients, OfAKernelWithItsLowestCodeReachesOneStepFurtherBelow) {
  const auto config = std::make_shared<CustomConfig>();
  config->kernel = fixed(-128.0F, 127.0F, {.symmetric = true});
  config->activation = fixed(-1000.0F, 1000.0F);
  QuantizeWrapper wrapper(std::make_unique<Dense>(1, Activation::none, "d"), config);
  wrapper.build({3}, Random());
  fill(wrapper.wrapped().weights()->kernel, {-128.5F, -129.0F, 128.0F});
  ASSERT_EQ(wrapper.kernel_quantizer()->params().scale(), 1.0F);
  const Gradients g = gradients_of(wrapper, Tensor::ones({1, 3}), Tensor::ones({1, 1}));
  expect_tensor(g.kernel, {3, 1}, {1, 0, 0});
}

TEST(IntegerGradients, ReachTheWeightThatMadeTheRangeHoweverItsScaleIsRounded) {
  const auto config = std::make_shared<CustomConfig>();
  config->activation = fixed(-1000.0F, 1000.0F);
  QuantizeWrapper wrapper(std::make_unique<Dense>(1, Activation::none, "d"), config);
  wrapper.build({2}, Random());
  int rounded_down = 0;
  for (int i = 0; i < 1000; ++i) {
    const float largest = 0.1F + 0.0001F * static_cast<float>(i);
    if (largest / 127.0F * 127.0F >= largest) continue;
    ++rounded_down;
    fill(wrapper.wrapped().weights()->kernel, {largest, -largest});
    wrapper.kernel_quantizer()->observe(wrapper.weights()->kernel);
    ASSERT_LT(wrapper.kernel_quantizer()->params().scale() * 127.0F, largest);
    Tensor(wrapper.wrapped().weights()->kernel).zero_grad();
    const Gradients g = gradients_of(wrapper, Tensor::ones({1, 2}), Tensor::ones({1, 1}));
    expect_tensor(g.kernel, {2, 1}, {1, 1});
  }
  EXPECT_GT(rounded_down, 0);
}

TEST(IntegerGradients, UseTheRoundedWeights) {
  const auto wrapper = whole_numbers(Activation::none, 2, {2.4F, -3.5F}, {0});
  const Gradients g = gradients_of(*wrapper, Tensor::from({1, 2}, {3, 2}), Tensor::ones({1, 1}));
  expect_tensor(g.y, {1, 1}, {3 * 2 + 2 * -4});
  expect_tensor(g.x, {1, 2}, {2, -4});
  expect_tensor(g.kernel, {2, 1}, {3, 2});
}

TEST(IntegerGradients, PerChannelEachKernelColumnHasItsOwnLimits) {
  const auto config = std::make_shared<CustomConfig>(QuantizeOptions{.per_channel = true});
  config->activation = fixed(-1000.0F, 1000.0F);
  QuantizeWrapper wrapper(std::make_unique<Dense>(2, Activation::none, "d"), config);
  wrapper.build({2}, Random());
  fill(wrapper.wrapped().weights()->kernel, {127, 254, -127, -254});
  wrapper.kernel_quantizer()->observe(wrapper.weights()->kernel);
  // A step of the optimizer later: 128 is outside of the first column's range, inside the second's.
  fill(wrapper.wrapped().weights()->kernel, {128, 128, 1, 254});
  const Gradients g = gradients_of(wrapper, Tensor::ones({1, 2}), Tensor::ones({1, 2}));
  expect_tensor(g.kernel, {2, 2}, {0, 1, 1, 1});
  expect_tensor(g.x, {1, 2}, {127 + 128, 1 + 254});
}

TEST(IntegerGradients, OfSigmoidTanhAndSoftmaxAreThoseOfTheRealFunction) {
  const Tensor values = Tensor::from({2, 3}, {-1.0F, 0.25F, 2.0F, 0.0F, -0.5F, 1.5F});
  const Tensor upstream = random_tensor({2, 3}, 3);
  for (const Activation activation : {Activation::sigmoid, Activation::tanh, Activation::softmax}) {
    const Tensor x = on_grid(leaf(values.clone()), 0.25F, 0);
    const Tensor real = leaf(values.clone());
    Tensor y = activation == Activation::softmax
                   ? integer_softmax(x, Rounding::fp32, "s")
                   : integer_table(x, activation, Rounding::fp32, "t");
    Tensor expected = apply_activation(activation, real);
    expect_close(y.detach(), expected.detach(), 0.005F);
    y.backward(upstream);
    expected.backward(upstream);
    expect_close(x.grad(), real.grad(), 1e-6F);
  }
}

TEST(IntegerGradients, OfAClampPassInsideItAndItsRangeInclusive) {
  // Codes of scale 1 that stand for 0 to 5, or for 0 to 255.
  const auto gradient = [](Activation activation, const QuantParams& output) {
    const Tensor x =
        on_grid(leaf(Tensor::from({6}, {-3.0F, 0.0F, 1.0F, 5.0F, 6.0F, 100.0F})), 1.0F, -28);
    integer_clamp(x, activation, output, "c").backward(Tensor::from({6}, {1, 2, 4, 8, 16, 32}));
    return values_of(x.grad());
  };
  const QuantParams wide = QuantParams::per_tensor(1.0F, -128);
  EXPECT_EQ(gradient(Activation::relu, wide), (std::vector<float>{0, 0, 4, 8, 16, 32}));
  EXPECT_EQ(gradient(Activation::relu6, wide), (std::vector<float>{0, 0, 4, 8, 0, 0}));
  const QuantParams to_five = QuantParams::per_tensor(1.0F, 122);
  EXPECT_EQ(gradient(Activation::relu, to_five), (std::vector<float>{0, 0, 4, 8, 0, 0}));
}

TEST(IntegerGradients, GoThroughAWholeNetworkAsThoseOfFakeQuant) {
  // Integers and fake quantization differ by roundings; the gradients have to be alike.
  const Sequential model = build_model(Input({6}), Dense(16), ReLU(), Dense(8, Activation::tanh),
                                       ReLU6(), Dense(3, Activation::softmax));
  const Tensor x = random_tensor({32, 6}, 4);
  const Tensor upstream = random_tensor({32, 3}, 5);
  std::vector<std::vector<Tensor>> gradients;
  for (const Simulation simulation : {Simulation::integer, Simulation::fake_quant}) {
    Sequential quantized = quantize_model(model, {.simulation = simulation});
    calibrate(quantized, random_tensor({64, 6}, 6, -2.1F, 2.1F));
    quantized.forward_logits(x).backward(upstream);
    auto& list = gradients.emplace_back();
    for (const auto& [name, tensor] : quantized.parameters()) list.push_back(tensor.grad());
  }
  ASSERT_EQ(gradients[0].size(), 6U);
  for (std::size_t i = 0; i < gradients[0].size(); ++i) {
    double dot = 0.0;
    double norms[2] = {0.0, 0.0};
    for (std::size_t j = 0; j < gradients[0][i].span().size(); ++j) {
      const double a = double{gradients[0][i].span()[j]};
      const double b = double{gradients[1][i].span()[j]};
      dot += a * b;
      norms[0] += a * a;
      norms[1] += b * b;
    }
    EXPECT_GT(norms[0], 0.0);
    EXPECT_GT(dot / std::sqrt(norms[0] * norms[1]), 0.99) << "parameter " << i;
  }
}

}  // namespace
}  // namespace octet::test::integer_gradients_test
