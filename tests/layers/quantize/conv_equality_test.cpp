#include <octet/core/ops/ops.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/reshape.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/layers/quantize/quantize_testing.h>
#include <octet/tests/layers/quantize/same_as_shipped.h>

// Convolutions trained on integers: the codes of the file at every layer, and the gradients of the
// float convolution.

namespace octet::testing {
namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  Index between(Index lo, Index hi) {
    return lo + random_.below(next_++, static_cast<std::uint32_t>(hi - lo + 1));
  }

 private:
  Random random_;
  std::uint64_t next_ = 0;
};

Conv2D draw_conv(Draw& draw, Index channels) {
  const Index groups = channels % 2 == 0 && draw.between(0, 2) == 0 ? 2 : 1;
  const auto activation = static_cast<Activation>(draw.between(0, 2));
  return {groups * draw.between(1, 6),
          {draw.between(1, 3), draw.between(1, 3)},
          activation,
          {.strides = {draw.between(1, 2), draw.between(1, 2)},
           .dilation = {draw.between(1, 2), 1},
           .padding = Padding::same,
           .groups = groups,
           .use_bias = draw.between(0, 2) > 0}};
}

/// Some convolutions, and a Dense layer behind them.
Sequential draw_network(std::uint64_t seed) {
  Draw draw(seed);
  const Shape images{draw.between(1, 9), draw.between(1, 9), draw.between(1, 5)};
  Sequential model("m", Input(images, "in"));
  Index channels = images[2];
  for (Index i = draw.between(1, 3); i > 0; --i) {
    Conv2D conv = draw_conv(draw, channels);
    channels = conv.filters();
    model.add(std::move(conv));
  }
  model.add(Flatten());
  model.add(Dense(3, Activation::none, "end"));
  model.build(seed);
  return model;
}

Tensor images_for(const Model& model, Index count, std::uint64_t seed) {
  return random_tensor(model.input_shape().with_batch(count), seed, -1.0F, 1.0F);
}

void train_a_little(Model& model, std::uint64_t seed) {
  for (std::uint64_t step = 0; step < 3; ++step) {
    model.zero_grad();
    const ForwardContext context{.mode = ForwardContext::Mode::training};
    mean(square(model.forward_logits(images_for(model, 6, seed + step), context))).backward();
    for (auto& [name, tensor] : model.parameters()) {
      const Tensor gradient = tensor.grad();
      ASSERT_TRUE(gradient.defined()) << name;
      ASSERT_EQ(gradient.shape(), tensor.shape()) << name;
      for (std::size_t i = 0; i < tensor.span().size(); ++i) {
        tensor.span()[i] -= 0.1F * gradient.span()[i];
      }
    }
  }
  refresh_kernel_ranges(model);
}

class ConvEquality : public ::testing::TestWithParam<Rounding> {};

TEST_P(ConvEquality, TrainingInterpreterAndFileOf60RandomNetworks) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Sequential model = draw_network(seed);
    model = quantize_model(model, {.rounding = GetParam()});
    calibrate(model, images_for(model, 20, seed));
    train_a_little(model, seed);
    if (HasFatalFailure()) return;
    const IntegerModel lowered = lower(model);
    for (const Operator& op : lowered.operators) {
      // XNNPACK takes no convolution without a bias.
      if (op.code == OpCode::conv_2d) {
        EXPECT_EQ(op.inputs.size(), 3U);
      }
    }
    expect_same_as_shipped(model, from_tflite(to_tflite(lowered)), images_for(model, 9, seed + 7));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Contracts, ConvEquality,
                         ::testing::Values(Rounding::fp32, Rounding::single_rounding,
                                           Rounding::double_rounding),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST(QuantizedConv2D, HasAScalePerFilterUnlessAskedForOne) {
  Sequential model("m", Input({5, 5, 2}), Conv2D(4, 3),
                   quantized(Conv2D(3, 2), {.per_channel = false}), Flatten(), Dense(2));
  model.build(1);
  model = quantize_model(model);
  calibrate(model, images_for(model, 8, 1));
  std::vector<std::size_t> scales;
  const IntegerModel lowered = lower(model);
  for (const Operator& op : lowered.operators) {
    if (op.inputs.size() < 2) continue;
    const ModelTensor& weights = lowered.tensors[static_cast<std::size_t>(op.inputs[1])];
    if (weights.is_quantized()) scales.push_back(weights.quantization.scales.size());
  }
  EXPECT_EQ(scales, (std::vector<std::size_t>{4, 1, 1}));
}

/// Numbers that are all whole: the gradients are those of the float convolution, to the bit.
TEST(QuantizedConv2D, HasTheGradientsOfTheFloatConvolution) {
  for (const Index groups : {1, 2}) {
    const auto config = std::make_shared<CustomConfig>();
    config->kernel = unit_kernel();
    config->activation = fixed(-100.0F, 155.0F);
    const Conv2DLayerOptions options{.strides = {2, 1}, .padding = Padding::same, .groups = groups};
    QuantizeWrapper wrapper(std::make_unique<Conv2D>(4, 3, Activation::relu, options), config);
    wrapper.build({5, 4, 2}, Random());
    const LayerWeights weights = *wrapper.wrapped().weights();
    const auto whole = [](const Shape& shape, std::uint64_t seed, Index most) {
      Tensor values(shape);
      Draw draw(seed);
      for (float& v : values.span()) v = static_cast<float>(draw.between(-most, most));
      return values;
    };
    fill(weights.kernel, values_of(whole(weights.kernel.shape(), 1, 2)));
    fill(weights.bias, {1, -2, 0, 3});
    const Tensor images = whole({3, 5, 4, 2}, 2, 2);
    const Tensor upstream = whole({3, 3, 4, 4}, 3, 9);

    const Tensor x = on_grid(leaf(images.clone()), 1.0F, 0);
    Tensor y = wrapper.forward(x, {});
    const auto values = values_of(y);
    y.backward(upstream);

    const Tensor real_x = leaf(images.clone());
    const Tensor kernel = leaf(weights.kernel.detach().clone());
    const Tensor bias = leaf(weights.bias.detach().clone());
    Tensor real = relu(
        conv2d(real_x, kernel, {.stride = {2, 1}, .padding = Padding::same, .groups = groups}) +
        bias);
    EXPECT_EQ(values, values_of(real));
    real.backward(upstream);
    EXPECT_EQ(values_of(weights.bias.grad()), values_of(bias.grad()));
    EXPECT_EQ(values_of(weights.kernel.grad()), values_of(kernel.grad()));
    EXPECT_EQ(values_of(x.grad()), values_of(real_x.grad()));
  }
}

TEST(QuantizedConv2D, TrainsToTheSameBytesOnAnyNumberOfThreads) {
  const octet::test::KeepThreads keep;
  std::vector<std::uint8_t> first;
  for (const int threads : {1, 2, 3, 4}) {
    set_num_threads(threads);
    Sequential model = draw_network(11);
    model = quantize_model(model);
    calibrate(model, images_for(model, 20, 1));
    train_a_little(model, 1);
    const auto bytes = to_tflite(lower(model));
    if (first.empty()) first = bytes;
    EXPECT_EQ(bytes, first) << threads;
  }
}

}  // namespace
}  // namespace octet::testing
