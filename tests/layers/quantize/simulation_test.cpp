#include <octet/core/ops/fake_quant.h>
#include <octet/core/ops/ops.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

// Simulation::fake_quant: TensorFlow's composition, put together by hand.

namespace octet::test::simulation_test {
namespace {

using detail::TensorAccess;

constexpr QuantizeOptions kFakeQuant{.simulation = Simulation::fake_quant};

std::unique_ptr<QuantizeWrapper> wrapped(Activation activation, QuantizeOptions options) {
  options.simulation = Simulation::fake_quant;
  auto wrapper = std::make_unique<QuantizeWrapper>(std::make_unique<Dense>(3, activation, "d"),
                                                   default_8bit(options));
  wrapper->build({4}, Random(2));
  Random(3).fill_uniform(Tensor(wrapper->wrapped().weights()->bias).mutable_span(), -1.0F, 1.0F);
  return wrapper;
}

Tensor fake_quantized(const Quantizer& quantizer, const Tensor& x) {
  return fake_quant_with_min_max_vars(x, quantizer.min(), quantizer.max());
}

TEST(FakeQuantSimulation, IsTheCompositionOfFakeQuantOps) {
  const Tensor x = random_tensor({5, 4}, 1);
  for (const Activation activation : {Activation::none, Activation::relu, Activation::relu6,
                                      Activation::sigmoid, Activation::tanh, Activation::softmax}) {
    const auto wrapper = wrapped(activation, {});
    const Tensor y = wrapper->forward(x, training());
    const Layer& dense = wrapper->wrapped();
    const Tensor kernel =
        fake_quant_with_min_max_vars(dense.weights()->kernel, wrapper->kernel_quantizer()->min(),
                                     wrapper->kernel_quantizer()->max(), 8, true);
    const Tensor linear = matmul(x, kernel) + dense.weights()->bias;
    const bool before = quantizes_before(activation);
    const Tensor real = before ? linear : apply_activation(activation, linear);
    // What the activation's quantizer has seen is what it quantizes, on the range of this batch.
    const auto [low, high] = std::ranges::minmax(real.span());
    EXPECT_EQ(wrapper->activation_quantizer()->min().item(), std::min(low, 0.0F));
    EXPECT_EQ(wrapper->activation_quantizer()->max().item(), std::max(high, 0.0F));
    const Tensor quantized = fake_quantized(*wrapper->activation_quantizer(), real);
    const Tensor expected = before ? apply_activation(activation, quantized) : quantized;
    expect_tensor(y, {5, 3}, values_of(expected));
    const Tensor logits = activation == Activation::softmax ? quantized : expected;
    expect_tensor(wrapper->forward_logits(x, {}), {5, 3}, values_of(logits));
  }
}

TEST(FakeQuantSimulation, HasTheGradientsOfThatComposition) {
  const Tensor x = random_tensor({5, 4}, 1);
  const Tensor upstream = random_tensor({5, 3}, 2);
  const auto wrapper = wrapped(Activation::relu, {});
  Tensor in = leaf(x.clone());
  wrapper->forward(in, training()).backward(upstream);
  const Layer& dense = wrapper->wrapped();
  const Tensor by_hand = leaf(x.clone());
  const Tensor kernel = leaf(dense.weights()->kernel.clone());
  const Tensor bias = leaf(dense.weights()->bias.clone());
  const Tensor quantized = fake_quant_with_min_max_vars(
      kernel, wrapper->kernel_quantizer()->min(), wrapper->kernel_quantizer()->max(), 8, true);
  Tensor y =
      fake_quantized(*wrapper->activation_quantizer(), relu(matmul(by_hand, quantized) + bias));
  y.backward(upstream);
  expect_tensor(in.grad(), {5, 4}, values_of(by_hand.grad()));
  expect_tensor(dense.weights()->kernel.grad(), {4, 3}, values_of(kernel.grad()));
  expect_tensor(dense.weights()->bias.grad(), {3}, values_of(bias.grad()));
}

TEST(FakeQuantSimulation, PerChannelHasARangePerUnit) {
  const auto wrapper = wrapped(Activation::none, {.per_channel = true});
  const Tensor x = random_tensor({5, 4}, 1);
  const Tensor y = wrapper->forward(x, training());
  const Quantizer& kernel = *wrapper->kernel_quantizer();
  EXPECT_EQ(kernel.min().shape(), (Shape{3}));
  const Tensor quantized = fake_quant_with_min_max_vars_per_channel(
      wrapper->wrapped().weights()->kernel, kernel.min(), kernel.max(), 8, true);
  const Tensor linear = matmul(x, quantized) + wrapper->wrapped().weights()->bias;
  expect_tensor(y, {5, 3}, values_of(fake_quantized(*wrapper->activation_quantizer(), linear)));
}

TEST(FakeQuantSimulation, InferenceChangesNothing) {
  Sequential quantized =
      quantize_model(build_model(Input({4}), Dense(3), ReLU("r"), ReLU()), kFakeQuant);
  calibrate(quantized, random_tensor({5, 4}, 1));
  std::vector<std::vector<float>> before;
  for (const auto& [name, tensor] : quantized.saved_tensors()) before.push_back(values_of(tensor));
  quantized.forward(random_tensor({5, 4}, 2, -9.0F, 9.0F));
  std::size_t i = 0;
  for (const auto& [name, tensor] : quantized.saved_tensors()) {
    EXPECT_EQ(values_of(tensor), before[i++]) << name;
  }
}

TEST(FakeQuantSimulation, OfTfmotRangesStartsAtSixAndInputsAtNothing) {
  QuantizeOptions options = QuantizeOptions::tfmot_ranges();
  options.simulation = Simulation::fake_quant;
  Sequential quantized =
      quantize_model(build_model(Input({4}), Dense(3, Activation::relu)), options);
  // Never trained, the input layer emits zeros and the rest quantizes on [-6, 6].
  EXPECT_TRUE(has_ranges(quantized));
  const Tensor x = random_tensor({2, 4}, 1);
  expect_tensor(quantized.layer("quantize_layer").forward(x, {}), {2, 4},
                std::vector<float>(8, 0.0F));
  quantized.forward(x, training());
  const Tensor minimum = tensor_named(quantized.state(), "quant_dense/post_activation_min");
  const auto weight = static_cast<float>(1.0 - 0.999);
  EXPECT_EQ(minimum.item(), -6.0F - (-6.0F - 0.0F) * weight);
}

TEST(FakeQuantSimulation, OfAnOutputWrapperQuantizesTheResult) {
  QuantizeWrapper wrapper(std::make_unique<ReLU>("r"), default_8bit(kFakeQuant));
  wrapper.build({4}, Random());
  const Tensor x = random_tensor({5, 4}, 1);
  const Tensor y = wrapper.forward(x, training());
  expect_tensor(y, {5, 4}, values_of(fake_quantized(*wrapper.activation_quantizer(), relu(x))));
  QuantizeWrapper passing(std::make_unique<ActivationLayer>(Activation::sigmoid),
                          default_8bit(kFakeQuant));
  passing.build({4}, Random());
  expect_tensor(passing.forward(x, training()), {5, 4}, values_of(sigmoid(x)));
}

TEST(FakeQuantSimulation, NamesWhatHasNoRange) {
  Sequential quantized =
      quantize_model(build_model(Input({4}), Dense(3, Activation::relu)), kFakeQuant);
  expect_error([&] { quantized.forward(Tensor::ones({1, 4})); }, "quantize_layer: no range");
  const auto wrapper = wrapped(Activation::relu, {});
  expect_error([&] { wrapper->forward(Tensor::ones({1, 4}), {}); }, "quant_d/kernel: no range");
  wrapper->kernel_quantizer()->observe(wrapper->weights()->kernel);
  expect_error([&] { wrapper->forward(Tensor::ones({1, 4}), {}); }, "quant_d/post_activation");
}

TEST(Simulation, ADivergedActivationNamesItsLayer) {
  for (const Simulation simulation : {Simulation::integer, Simulation::fake_quant}) {
    Sequential quantized = quantize_model(build_model(Input({4}), Dense(3, Activation::relu)),
                                          {.simulation = simulation});
    expect_throws<NumericError>(
        [&] {
          quantized.forward(Tensor::full({1, 4}, kNan), training());
        },
        {"quantize_layer"});
    quantized.forward(Tensor::ones({1, 4}), training());
    fill(tensor_named(quantized.parameters(), "quant_dense/kernel"), std::vector<float>(12, kInf));
    expect_throws<NumericError>(
        [&] {
          quantized.forward(Tensor::ones({1, 4}), training());
        },
        {"quant_dense/kernel"});
  }
}

TEST(Simulation, WrappersOfLayersWithoutANameGetNamesOfTheirOwn) {
  Sequential model("m", Input({4}));
  for (int i = 0; i < 2; ++i) {
    model.add(std::make_unique<QuantizeWrapper>(std::make_unique<Dense>(4), default_8bit()));
  }
  EXPECT_EQ(layer_lines(model),
            (std::vector<std::string>{"input_1 InputLayer", "quantize_wrapper QuantizeWrapper",
                                      "quantize_wrapper_1 QuantizeWrapper"}));
}

TEST(Simulation, AConfigThatLeavesTheResultAloneComputesInFloat) {
  const auto config = std::make_shared<CustomConfig>();
  config->activation = nothing();
  QuantizeWrapper wrapper(std::make_unique<Dense>(3, Activation::tanh, "d"), config);
  wrapper.build({4}, Random(1));
  const Tensor x = on_grid(random_tensor({2, 4}, 1), 0.1F, 0);
  const Tensor y = wrapper.forward(x, training());
  EXPECT_EQ(y.quantization(), nullptr);
  const Tensor kernel = wrapper.kernel_quantizer()->fake_quant(wrapper.wrapped().weights()->kernel);
  expect_tensor(y, {2, 3}, values_of(tanh(matmul(x, kernel) + wrapper.wrapped().weights()->bias)));
  EXPECT_EQ(names_of(wrapper.state()), (std::vector<std::string>{"kernel_min", "kernel_max"}));
}

TEST(Simulation, AConfigThatLeavesTheKernelAlonePutsTheResultOnAGrid) {
  for (const Activation activation : {Activation::none, Activation::tanh, Activation::softmax}) {
    const auto config = std::make_shared<CustomConfig>();
    config->kernel = nothing();
    QuantizeWrapper wrapper(std::make_unique<Dense>(3, activation, "d"), config);
    wrapper.build({4}, Random(1));
    const Tensor x = random_tensor({2, 4}, 1);
    const Tensor y = wrapper.forward(x, training());
    EXPECT_NE(y.quantization(), nullptr) << to_string(activation);
    expect_close(y, wrapper.wrapped().clone()->forward(x, {}), 0.02F);
  }
}

}  // namespace
}  // namespace octet::test::simulation_test
