#include <octet/deploy/tflite/writer.h>
#include <octet/layers/architecture.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/layers/quantize/random_convolutions.h>
#include <octet/tests/layers/quantize/same_as_shipped.h>

// Convolutions trained on integers: the codes of the file at every layer, and the gradients of the
// float convolution.

namespace octet::test::conv_equality_test {
namespace {

/// Makes every weight of the first kernel's last unit 0.
void kill_a_unit(Model& model) {
  for (const auto& layer : model.layers()) {
    const auto weights = layer->weights();
    if (!weights) continue;
    // A transposed convolution keeps its units in front of its inputs.
    const Index inner = weights->transposed ? weights->kernel.dim(2) : 1;
    const Index units = weights->kernel.dim(-1);
    Tensor kernel = layer->parameters()[0].tensor.detach();
    for (Index i = 0; i < kernel.size(); ++i) {
      if (i / inner % units == units - 1) kernel.mutable_span()[static_cast<std::size_t>(i)] = 0;
    }
    break;
  }
  refresh_kernel_ranges(model);
}

/// What runtimes ask of the constants of convolutions.
void expect_sound_convolutions(const IntegerModel& model) {
  for (const Operator& op : model.operators) {
    const bool depthwise = op.code == OpCode::depthwise_conv_2d;
    const bool transposed = op.code == OpCode::transpose_conv;
    if (op.code != OpCode::conv_2d && !depthwise && !transposed) continue;
    // XNNPACK takes no convolution without a bias.
    ASSERT_EQ(op.inputs.size(), transposed ? 4U : 3U);
    ASSERT_NE(op.inputs[2], -1);
    const ModelTensor& weights = model.tensors[static_cast<std::size_t>(op.inputs[1])];
    const int axis = depthwise ? 3 : 0;
    EXPECT_EQ(weights.quantization.quantized_dimension, axis);
    EXPECT_EQ(std::ssize(weights.quantization.scales),
              weights.shape[static_cast<std::size_t>(axis)]);
    for (const float scale : weights.quantization.scales) EXPECT_GT(scale, 0.0F);
    for (const auto code : weights.data) {
      EXPECT_NE(static_cast<std::int8_t>(code), -128);
    }
  }
}

class ConvEquality : public ::testing::TestWithParam<Rounding> {
 protected:
  static void expect_60_equal(Sequential (*draw)(std::uint64_t seed)) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Model model = quantize_model(draw(seed), {.rounding = GetParam()});
      calibrate(model, images_for(model, 20, seed));
      train_a_little(model, seed);
      if (HasFatalFailure()) return;
      if (seed % 4 == 0) kill_a_unit(model);
      expect_sound_convolutions(lower(model));
      expect_same_as_shipped(model, images_for(model, 9, seed + 7));
      if (HasFatalFailure()) return;
    }
  }
};

TEST_P(ConvEquality, OfRandomNetworks) { expect_60_equal(random_images_net); }
TEST_P(ConvEquality, OfRandomTransposedConvolutions) { expect_60_equal(random_transposed_net); }
TEST_P(ConvEquality, OfRandomNetworksOfSequences) { expect_60_equal(random_sequences_net); }

INSTANTIATE_TEST_SUITE_P(Contracts, ConvEquality, ::testing::ValuesIn(kContracts), contract_name);

TEST(QuantizedConvolutions, HaveAScalePerUnitUnlessAskedForOne) {
  Sequential model("m", Input({5, 5, 2}), Conv2D(4, 3),
                   quantized(Conv2D(3, 2), {.per_channel = false}),
                   DepthwiseConv2D(1, Activation::none, {.depth_multiplier = 3}),
                   quantized(DepthwiseConv2D(2), {.per_channel = false}), Reshape({-1, 3}),
                   Conv1D(5, 2), Flatten(), Dense(2));
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
  EXPECT_EQ(scales, (std::vector<std::size_t>{4, 1, 9, 1, 5, 1}));
}

Tensor whole_numbers(const Shape& shape, std::uint64_t seed, Index most) {
  Tensor values(shape);
  Draw draw(seed);
  for (float& v : values.mutable_span()) v = static_cast<float>(draw.between(-most, most));
  return values;
}

/// Numbers that are all whole: the gradients are those of the float layer, to the bit.
void expect_float_gradients(std::unique_ptr<Layer> layer, const Shape& examples) {
  const auto config = std::make_shared<CustomConfig>();
  config->kernel = unit_kernel();
  config->activation = fixed(-100.0F, 155.0F);
  QuantizeWrapper wrapper(std::move(layer), config);
  wrapper.build(examples, Random());
  const auto parameters = wrapper.wrapped().parameters();
  fill(parameters[0].tensor, values_of(whole_numbers(parameters[0].tensor.shape(), 1, 2)));
  fill(parameters[1].tensor, values_of(whole_numbers(parameters[1].tensor.shape(), 4, 3)));
  const Tensor images = whole_numbers(examples.with_batch(3), 2, 2);
  const Tensor upstream = whole_numbers(wrapper.output_shape().with_batch(3), 3, 9);
  const auto run = [&](Layer& of, const Tensor& x) {
    for (auto& [name, tensor] : of.parameters()) tensor.zero_grad();
    Tensor y = of.forward(x, {});
    const auto values = values_of(y);
    y.backward(upstream);
    std::vector<std::vector<float>> found = {values, values_of(x.grad())};
    for (auto& [name, tensor] : of.parameters()) {
      EXPECT_EQ(tensor.grad().shape(), tensor.shape()) << name;
      found.push_back(values_of(tensor.grad()));
    }
    return found;
  };
  const std::unique_ptr<Layer> real = wrapper.wrapped().clone();
  EXPECT_EQ(run(wrapper, on_grid(leaf(images.clone()), 1.0F, 0)), run(*real, leaf(images.clone())));
}

TEST(QuantizedConvolutions, HaveTheGradientsOfTheFloatConvolution) {
  for (const Index groups : {1, 2}) {
    const Conv2DLayerOptions options{.strides = {2, 1}, .padding = Padding::same, .groups = groups};
    expect_float_gradients(std::make_unique<Conv2D>(4, 3, Activation::relu, options), {5, 4, 2});
    const Conv1DLayerOptions along{.stride = 2, .padding = Padding::same, .groups = groups};
    expect_float_gradients(std::make_unique<Conv1D>(4, 3, Activation::relu, along), {9, 2});
  }
  for (const Padding padding : {Padding::valid, Padding::same}) {
    expect_float_gradients(std::make_unique<TransposedConv2D>(
                               4, 3, Activation::relu,
                               TransposedConv2DLayerOptions{.strides = {2, 1}, .padding = padding}),
                           {3, 4, 2});
  }
  for (const Index multiplier : {1, 3}) {
    expect_float_gradients(
        std::make_unique<DepthwiseConv2D>(
            3, Activation::relu,
            DepthwiseConv2DLayerOptions{
                .strides = {2, 1}, .padding = Padding::same, .depth_multiplier = multiplier}),
        {5, 4, 2});
  }
}

Sequential trained(Sequential model) {
  model = quantize_model(model);
  calibrate(model, images_for(model, 20, 1));
  train_a_little(model, 1);
  return model;
}

Sequential every_convolution() {
  Sequential model("m", Input({9, 8, 2}), Conv2D(6, 3, Activation::relu),
                   DepthwiseConv2D(3, Activation::relu6, {.depth_multiplier = 2}),
                   TransposedConv2D(5, 3, Activation::relu, {.strides = {2, 1}}),
                   SeparableConv2D(4, 3), Reshape({-1, 4}), Conv1D(3, 2), Flatten(), Dense(2));
  model.build(3);
  return model;
}

TEST(QuantizedConvolutions, TrainToTheSameBytesOnAnyNumberOfThreads) {
  const octet::test::KeepThreads keep;
  std::vector<std::uint8_t> first;
  for (const int threads : {1, 2, 3, 4}) {
    set_num_threads(threads);
    const auto bytes = to_tflite(lower(trained(every_convolution())));
    if (first.empty()) first = bytes;
    EXPECT_EQ(bytes, first) << threads;
  }
}

TEST(QuantizedConvolutions, AreMadeAgainFromAnArchive) {
  const Sequential model = trained(every_convolution());
  Archive archive;
  for (const auto& [name, tensor] : model.saved_tensors()) archive.add(name, tensor);
  add_architecture(archive, model);
  EXPECT_EQ(to_tflite(lower(model_from_archive(archive))), to_tflite(lower(model)));
}

/// A ReLU layer behind a convolution becomes its own activation.
TEST(QuantizedConvolutions, EndInTheClampBehindThem) {
  Sequential model("m", Input({9, 8, 2}), DepthwiseConv2D(3), ReLU6(), SeparableConv2D(4, 3),
                   ReLU(), Reshape({-1, 4}), Conv1D(3, 2), ReLU(), Flatten(), Dense(2));
  model.build(3);
  const IntegerModel lowered = lower(trained(std::move(model)));
  std::vector<std::pair<OpCode, FusedActivation>> found;
  for (const Operator& op : lowered.operators) {
    if (op.code != OpCode::reshape) found.emplace_back(op.code, op.activation());
  }
  EXPECT_EQ(found, (std::vector<std::pair<OpCode, FusedActivation>>{
                       {OpCode::depthwise_conv_2d, FusedActivation::relu6},
                       {OpCode::depthwise_conv_2d, FusedActivation::none},
                       {OpCode::conv_2d, FusedActivation::relu},
                       {OpCode::conv_2d, FusedActivation::relu},
                       {OpCode::fully_connected, FusedActivation::none}}));
}

/// Says that it is depthwise, and has one group.
class Ungrouped : public Conv2D {
 public:
  using Conv2D::Conv2D;
  std::optional<LayerWeights> weights() const override {
    LayerWeights weights = Conv2D::weights().value();
    weights.depthwise = true;
    return weights;
  }

 protected:
  std::unique_ptr<KernelLayer> copy() const override { return std::make_unique<Ungrouped>(*this); }
  Shape result_shape(std::span<const Shape> /*input_shapes*/) const override { return {3, 3, 4}; }
};

TEST(QuantizedConvolutions, AreDepthwiseWithAGroupForEveryChannelOnly) {
  Sequential model("m", Input({5, 5, 2}), Ungrouped(4, 3), Flatten(), Dense(2));
  model.build(1);
  const std::vector<std::string> parts = {"conv", "depthwise", "2 channels", "1 groups"};
  expect_throws<InvalidArgument>([&] { static_cast<void>(quantize_model(model)); }, parts);
  expect_throws<InvalidArgument>([&] { static_cast<void>(lower_float(model)); }, parts);
}

/// A Conv1D whose result alone is quantized, since it feeds a marked layer, computes in floats.
TEST(QuantizedConvolutions, OfSequencesInFrontOfMarkedLayersComputeInFloats) {
  Sequential model("m", Input({9, 2}), Conv1D(3, 2), quantize_annotate_layer(Conv1D(4, 2)),
                   Flatten(), Dense(2));
  model.build(3);
  model = quantize_apply(model);
  calibrate(model, images_for(model, 20, 1));
  expect_same_as_shipped(model, images_for(model, 9, 5));
}

/// Says that it is transposed, and has dilation.
class Dilated : public Conv2D {
 public:
  using Conv2D::Conv2D;
  std::optional<LayerWeights> weights() const override {
    LayerWeights weights = Conv2D::weights().value();
    weights.transposed = true;
    return weights;
  }

 protected:
  std::unique_ptr<KernelLayer> copy() const override { return std::make_unique<Dilated>(*this); }
};

TEST(QuantizedConvolutions, AreTransposedWithoutDilationOnly) {
  Sequential model("m", Input({5, 5, 2}), Dilated(4, 2, Activation::none, {.dilation = {2, 1}}),
                   Flatten(), Dense(2));
  model.build(1);
  expect_throws<InvalidArgument>([&] { static_cast<void>(lower_float(model)); },
                                 {"conv", "transposed", "a dilation of 2, 1"});
}

/// A kernel or a result left alone: floats between the codes.
TEST(QuantizedConvolutions, LeftInFloatStandBetweenCodes) {
  Sequential model("m", Input({9, 8, 2}), in_float(DepthwiseConv2D(3)), Conv2D(4, 1),
                   in_float(TransposedConv2D(4, 2, Activation::relu6, {.use_bias = false})),
                   Reshape({-1, 4}), in_float(Conv1D(3, 2)), Flatten(), Dense(2));
  model.build(3);
  model = trained(std::move(model));
  expect_same_as_shipped(model, images_for(model, 9, 5));
}

}  // namespace
}  // namespace octet::test::conv_equality_test
