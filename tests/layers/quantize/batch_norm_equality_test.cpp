#include <octet/core/ops/ops.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/activation.h>
#include <octet/layers/conv1d.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/depthwise_conv2d.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/reshape.h>
#include <octet/layers/transposed_conv2d.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/core/quant/quant_testing.h>
#include <octet/tests/layers/quantize/quantize_testing.h>
#include <octet/tests/layers/quantize/same_as_shipped.h>

// Batch normalization in quantized layers: once it is folded or frozen, the codes of training are
// those of evaluation, of the interpreter and of the file.

namespace octet::test::batch_norm_equality_test {
namespace {

/// A random float network of convolutions of images, or of sequences, and Dense layers with a
/// BatchNorm behind, and often a clamp and another BatchNorm behind that, its batch normalization
/// trained for a few steps.
class RandomNet {
 public:
  explicit RandomNet(std::uint32_t seed) : random_(seed), model_("net") {
    const bool sequences = one_in(3);
    const Shape images{random_.integer(1, 6), random_.integer(1, 6), random_.integer(1, 4)};
    model_.add(Input(sequences ? images.without_dim(0) : images, "in"));
    if (one_in(4)) add_norm();
    for (int i = random_.integer(1, 3); i > 0; --i) sequences ? add_conv_1d() : add_conv();
    if (one_in(3)) add_dense();  // of each pixel or step
    model_.add(Flatten());
    for (int i = random_.integer(0, 2); i > 0; --i) add_dense();
    model_.add(Dense(3, Activation::none, "end"));
    model_.build(seed);
    for (auto& [name, tensor] : model_.parameters()) {
      // Gammas and betas of both signs: a fold turns quantized values around.
      if (!name.ends_with("/gamma") && !name.ends_with("/beta")) continue;
      for (float& v : Tensor(tensor).mutable_span()) v = random_.real(-2.0F, 2.0F);
    }
    for (int i = 0; i < 5; ++i) model_.forward(batch(16), training());
  }

  const Sequential& model() const { return model_; }
  QuantizeOptions options(Rounding rounding, BatchNormMode mode) {
    return {.rounding = rounding,
            .weight_bits = random_.integer(3, 8),
            .per_channel = one_in(2),
            .batch_norm = mode};
  }
  Tensor batch(Index size) {
    return Tensor::uniform(model_.input_shape().with_batch(size), Random(random_.bits()), -1.0F,
                           2.0F);
  }

 private:
  bool one_in(int count) { return random_.integer(1, count) == 1; }

  // Every draw is a statement or an element of braces, which have an order: the arguments of a call
  // have none, and each compiler would train other networks.
  void add_conv_1d() {
    const Index filters = random_.integer(1, 7);
    const Index kernel = random_.integer(1, 3);
    model_.add(
        Conv1D(filters, kernel, Activation::none,
               {.stride = random_.integer(1, 2), .padding = Padding::same, .use_bias = one_in(2)}));
    add_norm();
  }
  void add_conv() {
    if (one_in(3)) {
      const std::array<Index, 2> kernel{random_.integer(1, 3), random_.integer(1, 3)};
      model_.add(DepthwiseConv2D(kernel, Activation::none,
                                 {.padding = Padding::same,
                                  .depth_multiplier = random_.integer(1, 2),
                                  .use_bias = one_in(2)}));
      return add_norm();
    }
    if (one_in(4)) {
      const Index filters = random_.integer(1, 5);
      const Index kernel = random_.integer(1, 3);
      model_.add(TransposedConv2D(filters, {kernel, 2}, Activation::none,
                                  {.strides = {random_.integer(1, 2), 1}, .use_bias = one_in(2)}));
      return add_norm();
    }
    const std::array<Index, 2> kernel{random_.integer(1, 3), random_.integer(1, 3)};
    const Index filters = random_.integer(1, 7);
    model_.add(Conv2D(
        filters, kernel, Activation::none,
        {.strides = {1, random_.integer(1, 2)}, .padding = Padding::same, .use_bias = one_in(2)}));
    add_norm();
  }
  void add_dense() {
    const Index units = random_.integer(1, 9);
    model_.add(Dense(units, Activation::none, DenseOptions{.use_bias = one_in(2)}));
    add_norm();
  }
  void add_norm() {
    model_.add(BatchNorm({.momentum = 0.5F, .epsilon = one_in(2) ? 1e-3F : 1e-5F}));
    if (one_in(2)) model_.add(ReLU());
    if (one_in(3)) model_.add(ReLU6());
    if (one_in(5)) model_.add(BatchNorm({.momentum = 0.5F}));
  }

  PortableRandom random_;
  Sequential model_;
};

/// The codes of every layer's results, layer by layer.
std::vector<std::vector<std::int8_t>> codes_of(Model& model, const Tensor& x,
                                               const ForwardContext& context) {
  std::vector<std::vector<std::int8_t>> all;
  static_cast<void>(model.forward_all(
      {&x, 1}, context, [&](std::size_t /*layer*/, const std::vector<Tensor>& steps) {
        for (const Tensor& step : steps) {
          const auto integers = detail::TensorAccess::integers(step);
          const auto* codes = integers.as<std::int8_t>();
          if (codes == nullptr) continue;
          all.emplace_back(codes, codes + step.size());
        }
      }));
  return all;
}

void expect_trained_is_shipped(Model& model, const Tensor& x) {
  freeze_ranges(model, true);
  const auto trained = codes_of(model, x, training());
  EXPECT_GT(trained.size(), 2U);
  ASSERT_EQ(codes_of(model, x, {}), trained);
  expect_same_as_shipped(model, x);
}

class BatchNormEquality : public ::testing::TestWithParam<Rounding> {};

TEST_P(BatchNormEquality, FoldedTrainingEvaluationInterpreterAndFileOf60RandomNetworks) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomNet net(seed);
    Model model = quantize_model(net.model(), net.options(GetParam(), BatchNormMode::folded));
    calibrate(model, net.batch(20));
    train_a_little(model, 3, [&net] { return net.batch(7); });
    expect_trained_is_shipped(model, net.batch(9));
    if (HasFatalFailure()) return;
  }
}

TEST_P(BatchNormEquality, FrozenStatisticsOf60RandomNetworks) {
  for (std::uint32_t seed = 100; seed < 160; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomNet net(seed);
    Model model = quantize_model(net.model(), net.options(GetParam(), BatchNormMode::statistics));
    calibrate(model, net.batch(20));
    const auto step = [&] { model.forward_logits(net.batch(7), training()); };
    for (int i = 0; i < 3; ++i) step();
    // Evaluation and the file are one another's at any time.
    refresh_kernel_ranges(model);
    expect_same_as_shipped(model, net.batch(9));
    if (HasFatalFailure()) return;
    freeze_batch_norm(model);
    train_a_little(model, 2, [&net] { return net.batch(7); });
    expect_trained_is_shipped(model, net.batch(9));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Contracts, BatchNormEquality, ::testing::ValuesIn(kContracts),
                         contract_name);

/// A convolution, its BatchNorm and a clamp, one layer when quantized.
Sequential small(std::uint64_t seed = 3, bool use_bias = false) {
  Sequential model("m", Input({5, 5, 3}, "in"),
                   Conv2D(4, 3, Activation::none, {.use_bias = use_bias, .name = "conv"}),
                   BatchNorm({.momentum = 0.5F}), ReLU(), Flatten(), Dense(2));
  model.build(seed);
  for (std::uint64_t i = 0; i < 4; ++i) model.forward(random_tensor({8, 5, 5, 3}, i), training());
  return model;
}

Tensor images(std::uint64_t seed, Index count = 8) { return random_tensor({count, 5, 5, 3}, seed); }

FoldedBatchNorm& norm_of(const Model& model) {
  return *folded_batch_norm(model.layer("quant_conv"));
}

TEST(QuantizedBatchNorm, IsPartOfTheConvolutionWithItsClamp) {
  const Sequential model = quantize_model(small());
  EXPECT_EQ(layer_lines(model),
            (std::vector<std::string>{"in InputLayer", "quantize_layer QuantizeLayer",
                                      "quant_conv QuantizeWrapper", "quant_flatten QuantizeWrapper",
                                      "quant_dense QuantizeWrapper"}));
  EXPECT_EQ(model.layer("quant_conv").activation(), Activation::relu);
  EXPECT_EQ(names_of(model.layer("quant_conv").parameters()),
            (std::vector<std::string>{"kernel", "gamma", "beta"}));
  EXPECT_EQ(names_of(model.layer("quant_conv").state()),
            (std::vector<std::string>{"moving_mean", "moving_variance", "kernel_min", "kernel_max",
                                      "post_activation_min", "post_activation_max",
                                      "post_activation_zero_point"}));
  EXPECT_EQ(norm_of(model).mode(), BatchNormMode::folded);
}

TEST(QuantizedBatchNorm, TheFilesIntegersAreThoseOfAnIndependentFold) {
  const Sequential net = small(5, true);
  Sequential model = quantize_model(net);
  calibrate(model, images(1, 20));
  const IntegerModel lowered = lower(model);
  const Operator& op = lowered.operators.front();
  ASSERT_EQ(op.code, OpCode::conv_2d);
  const auto at = [&](std::size_t i) -> const ModelTensor& {
    return lowered.tensors[static_cast<std::size_t>(op.inputs[i])];
  };
  const auto& conv = dynamic_cast<const Conv2D&>(net.layer("conv"));
  const auto& norm = dynamic_cast<const BatchNorm&>(net.layer("batch_norm"));
  const auto* weights = reinterpret_cast<const std::int8_t*>(at(1).data.data());
  const auto* biases = reinterpret_cast<const std::int32_t*>(at(2).data.data());
  const auto input_scale = double{at(0).quantization.scale()};
  for (std::size_t c = 0; c < 4; ++c) {
    const double m = double{norm.gamma().span()[c]} /
                     std::sqrt(double{norm.moving_variance().span()[c]} + double{norm.epsilon()});
    double largest = 0.0;
    for (std::size_t i = 0; i < 27; ++i) {
      largest = std::max(largest, std::fabs(double{conv.kernel().span()[i * 4 + c]} * m));
    }
    const double scale = largest / 127.0;
    EXPECT_NEAR(double{at(1).quantization.scales[c]} / scale, 1.0, 1e-6);
    for (std::size_t i = 0; i < 27; ++i) {
      const double code = double{conv.kernel().span()[i * 4 + c]} * m / scale;
      EXPECT_LE(std::fabs(code - static_cast<double>(weights[c * 27 + i])), 0.5 + 1e-4);
    }
    const double bias = (double{conv.bias().span()[c]} - double{norm.moving_mean().span()[c]}) * m +
                        double{norm.beta().span()[c]};
    EXPECT_LE(std::fabs(bias / (input_scale * scale) - static_cast<double>(biases[c])), 0.5 + 1e-2);
  }
}

TEST(QuantizedBatchNorm, AChannelThatIsDeadOrTurnedAroundIsShippedAsTrained) {
  for (const bool per_channel : {true, false}) {
    Sequential net("m", Input({6}), Dense(4, Activation::none, "conv"), BatchNorm(), Dense(2));
    net.build(1);
    fill(tensor_named(net.parameters(), "batch_norm/gamma"), {0.0F, -1.5F, 1.0F, 1e-30F});
    fill(tensor_named(net.parameters(), "batch_norm/beta"), {0.7F, 0.1F, 0.0F, -0.3F});
    Sequential model = quantize_model(net, {.per_channel = per_channel});
    calibrate(model, random_tensor({20, 6}, 1));
    train_a_little(model, 2, [] { return random_tensor({20, 6}, 2); });
    fill(tensor_named(model.parameters(), "quant_conv/gamma"), {0.0F, -1.5F, 0.0F, 1e-30F});
    fill(tensor_named(model.parameters(), "quant_conv/beta"), {0.7F, 0.1F, 0.0F, -0.3F});
    refresh_kernel_ranges(model);
    const IntegerModel lowered = lower(model);
    const auto tensor = static_cast<std::size_t>(lowered.operators.front().inputs[1]);
    for (const float scale : lowered.tensors[tensor].quantization.scales) {
      EXPECT_TRUE(std::isnormal(scale) && scale > 0.0F) << scale;
    }
    for (const auto code : lowered.tensors[tensor].data) {
      EXPECT_NE(static_cast<std::int8_t>(code), -128);
    }
    expect_trained_is_shipped(model, random_tensor({9, 6}, 3));
    // The dead channels give beta.
    const Tensor y =
        model.layers()[2]->forward(model.layers()[1]->forward(random_tensor({9, 6}, 3), {}), {});
    const float step = model.layer("quant_conv").result_quantizer()->params().scale();
    for (std::size_t i = 0; i < 9; ++i) {
      EXPECT_NEAR(y.span()[i * 4], 0.7F, step);
      EXPECT_NEAR(y.span()[i * 4 + 2], 0.0F, step);
    }
  }
}

TEST(QuantizedBatchNorm, TrainsOnTheStatisticsOfTheBatchUntilItIsFrozen) {
  const Tensor x = 3.0F * images(7) + 1.0F;
  for (const Simulation simulation : {Simulation::integer, Simulation::fake_quant}) {
    Sequential net = small();
    const Tensor expected =
        relu(net.layers()[2]->forward(net.layers()[1]->forward(x, {}), training()));
    const auto moved = values_of(tensor_named(net.state(), "batch_norm/moving_mean"));
    const Sequential source = small();
    Sequential model =
        quantize_model(source, {.simulation = simulation, .batch_norm = BatchNormMode::statistics});
    calibrate(model, x);
    const auto result = [&](const ForwardContext& context) {
      return model.layers()[2]->forward(model.layers()[1]->forward(x, context), context);
    };
    EXPECT_EQ(values_of(norm_of(model).batch_norm().moving_mean()),
              values_of(tensor_named(source.state(), "batch_norm/moving_mean")))
        << "calibration moves no statistics";
    const Tensor folded = result({});
    const Tensor trained = result(training());
    expect_close(trained, expected, 0.05F);
    expect_close(norm_of(model).batch_norm().moving_mean(), Tensor::from({4}, moved), 0.02F);
    float far = 0.0F;
    for (std::size_t i = 0; i < folded.span().size(); ++i) {
      far = std::max(far, std::fabs(folded.span()[i] - expected.span()[i]));
    }
    EXPECT_GT(far, 0.3F) << "the moving statistics are other ones";
    freeze_batch_norm(model);
    freeze_ranges(model, true);
    refresh_kernel_ranges(model);
    const auto before = values_of(norm_of(model).batch_norm().moving_mean());
    EXPECT_EQ(values_of(result(training())), values_of(result({})));
    EXPECT_EQ(values_of(norm_of(model).batch_norm().moving_mean()), before);
  }
}

/// The gradients of a step on the statistics of the batch, layer in floats or on codes of fine
/// grids.
TEST(QuantizedBatchNorm, GradientsOnStatisticsAreThoseOfBatchNormalization) {
  const Tensor x = images(7, 16);
  const Tensor upstream = random_tensor({16, 3, 3, 4}, 9);
  for (const bool quantize : {false, true}) {
    Sequential net("m", Input({5, 5, 3}), Conv2D(4, 3, Activation::none, {.name = "conv"}),
                   BatchNorm(), Flatten(), Dense(2));
    net.build(3);
    Sequential model = quantize_model(net, {.batch_norm = BatchNormMode::statistics});
    calibrate(model, 1.5F * x);
    enable_quantization(model, quantize);
    const Tensor codes = model.layers()[1]->forward(x, {});
    const Tensor of_model = leaf(codes.detach());
    Tensor y = model.layers()[2]->forward(of_model, training());
    y.backward(upstream);
    const Tensor of_net = leaf(codes.detach().clone());
    Tensor z = net.layers()[2]->forward(net.layers()[1]->forward(of_net, training()), training());
    z.backward(upstream);
    // The rounded kernel moves them by less than a step of it.
    const float tolerance = quantize ? 0.1F : 1e-4F;
    expect_close(y.detach(), z.detach(), tolerance);
    expect_close(of_model.grad(), of_net.grad(), tolerance);
    const auto grad = [](const Model& of, const std::string& name) {
      return tensor_named(of.parameters(), name).grad();
    };
    const Tensor scale = Tensor::scalar(quantize ? 0.05F : 1.0F);
    expect_close(grad(model, "quant_conv/kernel") * scale, grad(net, "conv/kernel") * scale,
                 tolerance);
    expect_close(grad(model, "quant_conv/gamma") * scale, grad(net, "batch_norm/gamma") * scale,
                 tolerance);
    expect_close(grad(model, "quant_conv/beta"), grad(net, "batch_norm/beta"), tolerance);
  }
}

TEST(QuantizedBatchNorm, TrainsToTheSameBytesOnAnyNumberOfThreads) {
  const octet::test::KeepThreads keep;
  for (const BatchNormMode mode : {BatchNormMode::folded, BatchNormMode::statistics}) {
    std::vector<std::uint8_t> first;
    for (const int threads : {1, 2, 3, 4}) {
      set_num_threads(threads);
      RandomNet net(11);
      Model model = quantize_model(net.model(), net.options(Rounding::fp32, mode));
      calibrate(model, net.batch(40));
      for (int i = 0; i < 3; ++i) {
        model.zero_grad();
        mean(square(model.forward_logits(net.batch(70), training()))).backward();
        for (auto& [name, tensor] : model.parameters()) {
          const Tensor gradient = tensor.grad();
          for (Index e = 0; gradient.defined() && e < tensor.size(); ++e) {
            tensor.mutable_data()[e] -= 0.1F * gradient.data()[e];
          }
        }
      }
      refresh_kernel_ranges(model);
      const auto bytes = to_tflite(lower(model));
      if (first.empty()) first = bytes;
      EXPECT_EQ(bytes, first) << threads;
    }
  }
}

}  // namespace
}  // namespace octet::test::batch_norm_equality_test
