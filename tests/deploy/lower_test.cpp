#include <octet/core/quant/bias.h>
#include <octet/core/tensor_internal.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/depthwise_conv2d.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/deploy/lowered.h>

#include <algorithm>
#include <cmath>

namespace octet::test::lower_test {
namespace {

using detail::TensorAccess;

TEST(Lower, WritesTheOperatorsOfTheConverter) {
  const Sequential model = calibrated(build_model(
      Input({2, 3}, "pixels"), Flatten(), Dense(5, Activation::relu, "a"), Dropout(0.5F),
      Dense(6, Activation::none, "b"), ReLU6(), Dense(4, Activation::tanh, "c"), ReLU("standalone"),
      Reshape({2, 2}), Flatten("again"), Dense(3, Activation::sigmoid, "d"),
      Dense(2, Activation::softmax, "e")));
  const IntegerModel lowered = lower(model);
  EXPECT_EQ(operator_lines(lowered),
            (std::vector<std::string>{"RESHAPE flatten", "FULLY_CONNECTED a", "FULLY_CONNECTED b",
                                      "FULLY_CONNECTED c/linear", "TANH c", "RELU standalone",
                                      "FULLY_CONNECTED d/linear", "LOGISTIC d",
                                      "FULLY_CONNECTED e/linear", "SOFTMAX e"}));
  EXPECT_EQ(lowered.operators[1].activation(), FusedActivation::relu);
  EXPECT_EQ(lowered.operators[2].activation(), FusedActivation::relu6);
  EXPECT_EQ(lowered.operators[3].activation(), FusedActivation::none);
  EXPECT_EQ(lowered.name, "m");
  EXPECT_EQ(lowered.description, "octet int8 model");
  ASSERT_EQ(lowered.inputs.size(), 1U);
  const ModelTensor& input = tensor_of(lowered, lowered.inputs[0]);
  EXPECT_EQ(input.name, "pixels");
  EXPECT_EQ(input.dtype, DType::int8);
  EXPECT_EQ(input.shape, (std::vector<std::int32_t>{1, 2, 3}));
  EXPECT_EQ(input.shape_signature, (std::vector<std::int32_t>{-1, 2, 3}));
  EXPECT_EQ(tensor_of(lowered, lowered.outputs[0]).name, "e");
}

TEST(Lower, GivesEveryTensorItsGrid) {
  const Sequential model = calibrated(build_model(
      Input({3}), Flatten(), Dense(4, Activation::relu, "a"), Dense(4, Activation::sigmoid, "b"),
      Dense(4, Activation::tanh, "c"), ReLU("r"), Reshape({2, 2}, "square"), ReLU(), Flatten(),
      Dense(2, Activation::softmax, "d")));
  const IntegerModel lowered = lower(model);
  const auto grid_of = [&](const std::string& layer) {
    return model.layer(layer).quantizers().back()->params();
  };
  const auto expect_grid = [&](const std::string& name, const QuantParams& params) {
    EXPECT_EQ(tensor_of(lowered, name).quantization.scales, params.scales) << name;
    EXPECT_EQ(tensor_of(lowered, name).quantization.zero_points, params.zero_points) << name;
  };
  expect_grid("input_1", grid_of("quantize_layer"));
  expect_grid("a", grid_of("quant_a"));
  expect_grid("b/linear", grid_of("quant_b"));
  expect_grid("b", QuantParams::per_tensor(1.0F / 256.0F, -128));
  expect_grid("c", QuantParams::per_tensor(1.0F / 128.0F, 0));
  expect_grid("r", grid_of("quant_r"));
  expect_grid("square", grid_of("quant_r"));
  expect_grid("d", QuantParams::per_tensor(1.0F / 256.0F, -128));
}

TEST(Lower, WritesCodesOfKernelAndBias) {
  for (const bool per_channel : {false, true}) {
    const Sequential model = calibrated(build_model(Input({3}), Dense(4, Activation::relu, "a")),
                                        {.weight_bits = 5, .per_channel = per_channel});
    fill(model.parameters()[1].tensor, {0.5F, -0.25F, 3.0F, 0.0F});
    const IntegerModel lowered = lower(model);
    const ModelTensor& weights = tensor_of(lowered, "a/kernel");
    const ModelTensor& bias = tensor_of(lowered, "a/bias");
    EXPECT_EQ(weights.shape, (std::vector<std::int32_t>{4, 3}));
    EXPECT_EQ(weights.dtype, DType::int8);
    EXPECT_EQ(weights.quantization.quantized_dimension, 0);
    EXPECT_EQ(bias.dtype, DType::int32);
    EXPECT_EQ(bias.shape, (std::vector<std::int32_t>{4}));
    const std::vector<float> scales = weights.quantization.scales;
    ASSERT_EQ(scales.size(), per_channel ? 4U : 1U);
    EXPECT_EQ(weights.quantization.zero_points, std::vector<std::int32_t>(scales.size(), 0));
    const float input_scale = tensor_of(lowered, "input_1").quantization.scale();
    const Tensor kernel = model.parameters()[0].tensor;
    const auto codes = data_of<std::int8_t>(weights);
    const auto biases = data_of<std::int32_t>(bias);
    for (Index j = 0; j < 4; ++j) {
      const auto unit = static_cast<std::size_t>(j);
      const float scale = scales[per_channel ? unit : 0];
      for (Index i = 0; i < 3; ++i) {
        const float steps = std::round(kernel.at({i, j}) / scale);
        EXPECT_EQ(codes[unit * 3 + static_cast<std::size_t>(i)],
                  static_cast<int>(std::clamp(steps, -15.0F, 15.0F)));
      }
      const double bias_scale = double{input_scale} * double{scale};
      EXPECT_EQ(biases[unit],
                std::lround(double{model.parameters()[1].tensor.at({j})} / bias_scale));
      EXPECT_EQ(bias.quantization.scales[per_channel ? unit : 0], input_scale * scale);
    }
  }
}

TEST(Lower, LeavesOutABiasThatTheLayerLacks) {
  const Sequential model = calibrated(
      build_model(Input({3}), Dense(4, Activation::none, DenseOptions{.use_bias = false})));
  const IntegerModel lowered = lower(model);
  EXPECT_EQ(lowered.operators[0].inputs.size(), 2U);
}

TEST(Lower, NamesTheRoundingContract) {
  const Sequential model = build_model(Input({3}), Dense(4));
  for (const Rounding rounding : kContracts) {
    EXPECT_EQ(lower(calibrated(model, {.rounding = rounding})).metadata.at("octet.rounding"),
              to_string(rounding));
  }
}

/// sum (x - zp) w + b, for inputs of two codes each.
std::int64_t naive_sum(const std::vector<std::int8_t>& weights, std::int32_t bias, int x0, int x1) {
  return std::int64_t{weights[0]} * x0 + std::int64_t{weights[1]} * x1 + bias;
}

TEST(Lower, BoundsItsSums) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    // One unit of two inputs: all 65,536 inputs can be tried.
    Sequential net("m", Input({2}), Dense(1, Activation::none, "a"));
    net.build(seed);
    const bool one_sided = seed >= 3;
    if (one_sided) fill(net.parameters()[0].tensor, {0.5F, 0.25F});
    fill(net.parameters()[1].tensor, {0.125F * static_cast<float>(seed)});
    Sequential model = quantize_model(net);
    calibrate(model, random_tensor({32, 2}, seed, one_sided ? 0.0F : -1.0F, 2.0F));
    const IntegerModel lowered = lower(model);
    const auto weights = data_of<std::int8_t>(tensor_of(lowered, "a/kernel"));
    const std::int32_t bias = data_of<std::int32_t>(tensor_of(lowered, "a/bias"))[0];
    const std::int32_t zero_point = tensor_of(lowered, "input_1").quantization.zero_point();
    std::int64_t largest = 0;
    for (int x0 = -128; x0 < 128; ++x0) {
      for (int x1 = -128; x1 < 128; ++x1) {
        largest =
            std::max(largest, std::abs(naive_sum(weights, bias, x0 - zero_point, x1 - zero_point)));
      }
    }
    const std::int64_t reach = std::max(127 - zero_point, zero_point + 128);
    const std::int64_t formula =
        (std::abs(int{weights[0]}) + std::abs(int{weights[1]})) * reach + std::abs(bias);
    const std::int64_t bound = std::stoll(lowered.metadata.at("octet.accumulator_bound"));
    EXPECT_EQ(bound, formula);
    EXPECT_GE(bound, largest);
    // Where everything has one sign the bound is reached.
    EXPECT_TRUE(!one_sided || bound == largest) << bound << " but " << largest;
  }
}

TEST(Lower, TheBoundIsThatOfTheWorstLayer) {
  Sequential net("m", Input({2}), Dense(1, Activation::none, "large"),
                 Dense(1, Activation::none, "small"));
  net.build();
  const auto bound_of = [&](float first, float second) {
    fill(net.parameters()[1].tensor, {first});
    fill(net.parameters()[3].tensor, {second});
    return std::stoll(lower(calibrated(net)).metadata.at("octet.accumulator_bound"));
  };
  const auto plain = bound_of(0.0F, 0.0F);
  EXPECT_GT(bound_of(1000.0F, 0.0F), plain);
  EXPECT_GT(bound_of(0.0F, 1000.0F), plain);
}

TEST(Lower, GrowsScalesForALargeBiasAndStaysEqual) {
  Sequential net("m", Input({2}), Dense(2, Activation::none, "a"));
  net.build();
  for (const bool per_channel : {false, true}) {
    Sequential model = quantize_model(net, {.per_channel = per_channel});
    fill(model.parameters()[0].tensor, {1e-4F, 1.0F, -1e-4F, 0.5F});
    fill(model.parameters()[1].tensor, {3e4F, 0.0F});
    const Tensor x = random_tensor({16, 2}, 3, -1e-2F, 1e-2F);
    calibrate(model, x);
    const IntegerModel lowered = lower(model);
    const auto bias = data_of<std::int32_t>(tensor_of(lowered, "a/bias"));
    EXPECT_LT(std::abs(std::int64_t{bias[0]}), std::int64_t{1} << 30);
    EXPECT_GT(tensor_of(lowered, "a/kernel").quantization.scales[0],
              model.layer("quant_a").quantizers()[0]->params().scales[0]);
    // What trains is what is exported all the same.
    Interpreter interpreter(lowered, {.batch = 16});
    const Tensor input = model.layer("quantize_layer").forward(x, {});
    for (Index i = 0; i < 32; ++i) {
      const float steps = input.data()[i] / input.quantization()->scale();
      interpreter.input<std::int8_t>()[static_cast<std::size_t>(i)] =
          static_cast<std::int8_t>(std::lround(steps) + input.quantization()->zero_point());
    }
    interpreter.invoke();
    const Tensor y = model.forward(x);
    for (Index i = 0; i < 32; ++i) {
      const float code = interpreter.output<std::int8_t>()[static_cast<std::size_t>(i)];
      EXPECT_EQ(y.data()[i], (code - static_cast<float>(y.quantization()->zero_point())) *
                                 y.quantization()->scale());
    }
  }
}

TEST(Lower, PutsQuantizeAtUint8Ends) {
  const Sequential model = calibrated(build_model(Input({3}), Dense(4, Activation::relu, "a")));
  const IntegerModel lowered = lower(model, {.input = IoType::uint8, .output = IoType::uint8});
  EXPECT_EQ(operator_lines(lowered),
            (std::vector<std::string>{"QUANTIZE quantize_layer", "FULLY_CONNECTED a",
                                      "QUANTIZE a/uint8"}));
  const ModelTensor& input = tensor_of(lowered, lowered.inputs[0]);
  const ModelTensor& output = tensor_of(lowered, lowered.outputs[0]);
  EXPECT_EQ(input.name, "input_1");
  for (const auto& [end, inner] : {std::pair{&input, "quantize_layer"}, {&output, "a"}}) {
    const QuantParams& grid = tensor_of(lowered, inner).quantization;
    EXPECT_EQ(end->dtype, DType::uint8);
    EXPECT_EQ(end->quantization.scales, grid.scales);
    EXPECT_EQ(end->quantization.zero_point(), grid.zero_point() + 128);
  }
  // Equal quantized values, 128 up.
  Interpreter bytes(lowered, {.batch = 9});
  Interpreter codes(lower(model), {.batch = 9});
  for (std::size_t i = 0; i < 27; ++i) {
    bytes.input<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 9);
    codes.input<std::int8_t>()[i] = static_cast<std::int8_t>(static_cast<int>(i * 9) - 128);
  }
  bytes.invoke();
  codes.invoke();
  for (std::size_t i = 0; i < 36; ++i) {
    EXPECT_EQ(bytes.output<std::uint8_t>()[i], codes.output<std::int8_t>()[i] + 128);
  }
}

TEST(Lower, PutsQuantizeAndDequantizeAtRealEnds) {
  const Sequential model = calibrated(build_model(Input({3}), Dense(4, Activation::relu, "a")));
  const IntegerModel lowered = lower(model, {.input = IoType::float32, .output = IoType::float32});
  EXPECT_EQ(operator_lines(lowered),
            (std::vector<std::string>{"QUANTIZE quantize_layer", "FULLY_CONNECTED a",
                                      "DEQUANTIZE a/real"}));
  EXPECT_EQ(tensor_of(lowered, lowered.inputs[0]).dtype, DType::float32);
  EXPECT_FALSE(tensor_of(lowered, lowered.inputs[0]).is_quantized());
  EXPECT_FALSE(tensor_of(lowered, lowered.outputs[0]).is_quantized());
  const Tensor x = random_tensor({9, 3}, 4);
  Interpreter interpreter(lowered, {.batch = 9});
  std::ranges::copy(x.span(), interpreter.input<float>().begin());
  interpreter.invoke();
  const auto output = interpreter.output<float>();
  EXPECT_EQ((std::vector<float>{output.begin(), output.end()}), values_of(model.forward(x)));
}

TEST(Lower, WritesLayersWithAScalePerChannelAsConvolutions) {
  const Sequential model = calibrated(
      build_model(Input({6}), Dense(5, Activation::relu, "a"), Dense(4, Activation::none, "b")),
      {.per_channel = true});
  const IntegerModel conv = lower(model, {.per_channel_dense = DenseForm::conv_2d});
  EXPECT_EQ(operator_lines(conv), (std::vector<std::string>{"RESHAPE input_1/image", "CONV_2D a",
                                                            "CONV_2D b/image", "RESHAPE b"}));
  EXPECT_EQ(to_tflite(conv), to_tflite(per_channel_as_conv_2d(lower(model))));
}

TEST(Lower, WritesPaddingSameAsValidWhereItPadsNothingAndSomeRuntimesMisreadIt) {
  const auto paddings = [](std::array<Index, 2> kernel, std::array<Index, 2> strides) {
    const Sequential net = build_model(
        Input({8, 8, 2}),
        Conv2D(3, kernel, Activation::none, {.strides = strides, .padding = Padding::same}));
    const Sequential net_of_channels = build_model(
        Input({8, 8, 2}),
        DepthwiseConv2D(kernel, Activation::none, {.strides = strides, .padding = Padding::same}));
    std::vector<Padding> result;
    for (const IntegerModel& model : {lower(calibrated(net)), lower_float(net)}) {
      result.push_back(model.operators[0].as<Conv2DAttributes>().padding);
    }
    for (const IntegerModel& model :
         {lower(calibrated(net_of_channels)), lower_float(net_of_channels)}) {
      result.push_back(model.operators[0].as<DepthwiseConv2DAttributes>().padding);
    }
    return result;
  };
  const auto all = [](Padding padding) { return std::vector(4, padding); };
  EXPECT_EQ(paddings({3, 3}, {4, 4}), all(Padding::valid));
  EXPECT_EQ(paddings({1, 2}, {2, 2}), all(Padding::valid));
  // Something is padded, or nothing is left at the end, or a pixel is all that is read.
  EXPECT_EQ(paddings({3, 3}, {4, 1}), all(Padding::same));
  EXPECT_EQ(paddings({2, 2}, {2, 2}), all(Padding::same));
  EXPECT_EQ(paddings({1, 1}, {2, 2}), all(Padding::same));
}

TEST(Lower, EndsMayDiffer) {
  const Sequential model = calibrated(build_model(Input({3}), Dense(4, Activation::relu, "a")));
  const IntegerModel lowered = lower(model, {.input = IoType::uint8, .output = IoType::float32});
  EXPECT_EQ(tensor_of(lowered, lowered.inputs[0]).dtype, DType::uint8);
  EXPECT_EQ(tensor_of(lowered, lowered.outputs[0]).dtype, DType::float32);
}

}  // namespace
}  // namespace octet::test::lower_test
