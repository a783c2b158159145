#include <octet/core/error.h>
#include <octet/deploy/runtime_warnings.h>
#include <octet/runtime/dense_form.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/deploy/lowered.h>
#include <octet/tests/runtime/conv_models.h>
#include <octet/tests/runtime/elementwise_models.h>
#include <octet/tests/runtime/int16_models.h>
#include <octet/tests/runtime/lstm_models.h>
#include <octet/tests/runtime/models.h>
#include <octet/tests/runtime/svdf_models.h>

#include <cmath>

namespace octet::test::runtime_warnings_test {
namespace {

/// A FULLY_CONNECTED of one input whose factors are the weight scales, over `output_scale`.
IntegerModel make_layer(const std::vector<float>& weight_scales, float output_scale = 1.0F,
                        float input_scale = 1.0F) {
  const auto units = static_cast<std::int32_t>(weight_scales.size());
  RawModelBuilder b;
  b.model.inputs = {b.activation("x", {1, 1}, DType::int8, quant(input_scale, 0))};
  QuantParams weights{weight_scales, std::vector<std::int32_t>(weight_scales.size(), 0)};
  const std::int32_t w = b.constant("w", {units, 1}, DType::int8,
                                    std::vector<std::int8_t>(weight_scales.size(), 1), weights);
  b.model.outputs = {b.activation("y", {1, units}, DType::int8, quant(output_scale, 3))};
  b.op(OpCode::fully_connected, {0, w}, b.model.outputs[0]);
  return b.model;
}

void expect_one(const IntegerModel& model, const std::vector<std::string>& parts) {
  const std::vector<std::string> warnings = runtime_warnings(model);
  ASSERT_EQ(warnings.size(), 1U);
  for (const std::string& part : parts) {
    EXPECT_NE(warnings[0].find(part), std::string::npos) << part << "\n" << warnings[0];
  }
}

// xnn_create_fully_connected_nc_qs8: "requantization scale is greater or equal to 256.0".
TEST(RuntimeWarnings, OfFactorsFrom256OnThatXnnpackRefuses) {
  EXPECT_TRUE(runtime_warnings(make_layer({std::nextafter(256.0F, 0.0F)})).empty());
  expect_one(make_layer({256.0F}),
             {"operator 0 (FULLY_CONNECTED) 'y'", "rescale factor 256", "XNNPACK", "LiteRT.js",
              "other columns of the input in far larger units"});
  expect_one(make_layer({1.0F}, 1.0F / 300.0F), {"rescale factor 300"});
  expect_one(make_layer({1.0F, 2.0F, 300.0F}), {"rescale factor 300 of unit 2"});
  expect_one(per_channel_as_conv_2d(make_layer({1.0F, 300.0F})), {"(CONV_2D)", "of unit 1"});
  // Beyond float32, where our own interpreter refuses the model as well.
  expect_one(make_layer({1e30F}, 1e-20F), {"rescale factor inf"});
}

TEST(RuntimeWarnings, OfScalesThatAreNotNormalAndOfNoSmallFactor) {
  EXPECT_TRUE(runtime_warnings(make_layer({1e-20F}, 1.0F, 1e-10F)).empty());
  expect_one(make_layer({1e-40F}), {"below the normal float32 numbers"});
  expect_one(make_layer({1.0F, 1e-40F}), {"of unit 1"});
  expect_one(make_layer({1.0F}, 1.0F, 1e-40F), {"below the normal"});
}

// CheckTensorFloat32OrFloat16OrQCInt32Type of the XNNPACK delegate.
TEST(RuntimeWarnings, OfABiasWithoutAScale) {
  const Conv c{
      .attributes = {}, .weights = std::vector<std::int8_t>(4 * 27, 1), .bias = {1, 2, 3, 4}};
  IntegerModel model = model_of(c);
  EXPECT_TRUE(runtime_warnings(model).empty());
  model.tensors[static_cast<std::size_t>(model.operators[0].inputs[2])].quantization = {};
  expect_one(model, {"(CONV_2D)", "bias 'bias' has no scale", "XNNPACK"});
}

// tensorflow/lite/kernels/add.cc: the output's factor, 2 max(s_1, s_2) / (2^20 s_y), is made by
// QuantizeMultiplierSmallerThanOneExp, which ends the program from 1 on.
TEST(RuntimeWarnings, OfSumsWhoseOutputScaleIsNextToNothing) {
  OpCode code = OpCode::add;
  const auto sum = [&code](float first, float second, float out) {
    RawModelBuilder b;
    b.model.inputs = {b.activation("a", {1, 3}, DType::int8, quant(first, 0)),
                      b.activation("b", {1, 3}, DType::int8, quant(second, 0))};
    b.model.outputs = {b.activation("sum", {1, 3}, DType::int8, quant(out, 0))};
    b.op(code, {0, 1}, 2);
    return b.model;
  };
  const float edge = std::ldexp(1.0F, -19);
  for (const float other : {1e-3F, 1.0F}) {
    expect_one(sum(1.0F, other, edge), {"operator 0 (ADD) 'sum'", "LiteRT and TFLite Micro"});
    expect_one(sum(other, 1.0F, edge / 8), {"(ADD) 'sum'"});
    EXPECT_TRUE(runtime_warnings(sum(1.0F, other, std::nextafter(edge, 1.0F))).empty());
  }
  // LiteRT takes any factor of a SUB, tensorflow/lite/kernels/sub.cc.
  code = OpCode::sub;
  expect_one(sum(1.0F, 1.0F, edge), {"(SUB) 'sum'", "inputs'; TFLite Micro refuses such a sum"});
  EXPECT_TRUE(runtime_warnings(sum(1.0F, 1.0F, std::nextafter(edge, 1.0F))).empty());
  RawModelBuilder reals;
  reals.model.inputs = {reals.activation("a", {1, 3}, DType::float32)};
  reals.model.outputs = {reals.activation("sum", {1, 3}, DType::float32)};
  reals.op(OpCode::add, {0, 0}, 1);
  EXPECT_TRUE(runtime_warnings(reals.model).empty());
}

TEST(RuntimeWarnings, OfAConstantBesideABatch) {
  RawModelBuilder b;
  const QuantParams grid = quant(0.5F, 0);
  b.model.inputs = {b.activation("x", {1, 2}, DType::int8, grid)};
  const std::int32_t c =
      b.constant("c", {1, 2}, DType::int8, std::vector<std::int8_t>{5, -7}, grid);
  b.model.outputs = {b.activation("all", {1, 4}, DType::int8, grid)};
  b.op(OpCode::concatenation, {0, c}, b.model.outputs[0], ConcatenationAttributes{.axis = 1});
  expect_one(b.model, {"operator 0 (CONCATENATION) 'all'", "operand 'c'", "a batch of 1 alone"});
  IntegerModel one_sample = b.model;
  for (ModelTensor& tensor : one_sample.tensors) tensor.shape_signature.clear();
  EXPECT_TRUE(runtime_warnings(one_sample).empty());
  b.model.operators[0].inputs = {0, 0};
  EXPECT_TRUE(runtime_warnings(b.model).empty());
}

TEST(RuntimeWarnings, OfAResizeThatInterpolatesIntegersOfAnotherScale) {
  Resize resize{.image = {1, 2, 3, 1}, .height = 4, .width = 5};
  resize.code = OpCode::resize_bilinear;
  const IntegerModel same = model_of(resize);
  EXPECT_TRUE(runtime_warnings(same).empty());
  IntegerModel other = same;
  other.tensors[static_cast<std::size_t>(other.outputs[0])].quantization.scales[0] *= 2.0F;
  expect_one(other, {"(RESIZE_BILINEAR)", "its result has scale", "do not rescale"});
  const std::vector<float> x = {-5.0F, 1.0F, 0.35F, 4.5F, -0.15F, 3.0F};
  std::vector<float> twice = Interpreter(same).run(x);
  for (float& value : twice) value *= 2.0F;
  EXPECT_EQ(Interpreter(other).run(x), twice);
}

TEST(RuntimeWarnings, OfARescalingRelu6UnderDoubleAlone) {
  const auto relu6 = [](float out_scale, std::int32_t out_zero, const std::string& contract) {
    IntegerModel model =
        make_unary(OpCode::relu6, {"x", DType::int8, {1, 4}, {}, quant(0.1F, -3), {}},
                   {"y", DType::int8, {1, 4}, {}, quant(out_scale, out_zero), {}});
    model.metadata["octet.rounding"] = contract;
    return model;
  };
  expect_one(relu6(0.1F, -128, "double"), {"(RELU6) 'y'", "TFLite Micro"});
  expect_one(relu6(0.02F, -3, "double"), {"(RELU6) 'y'"});
  EXPECT_TRUE(runtime_warnings(relu6(0.1F, -3, "double")).empty());
  EXPECT_TRUE(runtime_warnings(relu6(0.02F, -128, "fp32")).empty());
}

TEST(RuntimeWarnings, OfWhatTfliteMicroLacksUnderDoubleAlone) {
  const auto under = [](IntegerModel model, const std::string& contract) {
    model.metadata["octet.rounding"] = contract;
    return model;
  };
  const IntegerModel gelu =
      function_model(OpCode::gelu, quant(0.1F, 0), quant(0.1F, -100), GeluAttributes{});
  expect_one(under(gelu, "double"), {"(GELU) 'y'", "TFLite Micro has no GELU", "SiLU"});
  const IntegerModel root = function_model(OpCode::sqrt, quant(0.1F, -128), quant(0.1F, -100));
  expect_one(under(root, "double"), {"(SQRT) 'y'", "TFLite Micro has no SQRT of int8"});
  EXPECT_TRUE(runtime_warnings(under(gelu, "fp32")).empty());
  const IntegerModel most =
      model_of(extreme_pair(OpCode::maximum, {.first = {1, 2, 3}, .second = {1, 2, 1}}));
  expect_one(under(most, "double"), {"(MAXIMUM) 'y'", "CMSIS-NN computes wrong values"});
  EXPECT_TRUE(runtime_warnings(under(most, "single")).empty());
  EXPECT_TRUE(runtime_warnings(under(model_of(extreme_pair(OpCode::minimum)), "double")).empty());
}

TEST(RuntimeWarnings, OfASoftmaxOverOneClass) {
  const auto softmax = [](std::int32_t classes) {
    return make_unary(OpCode::softmax, {"x", DType::int8, {1, classes}, {}, quant(0.1F, -3), {}},
                      {"y", DType::int8, {1, classes}, {}, quant(1.0F / 256, -128), {}});
  };
  expect_one(softmax(1), {"operator 0 (SOFTMAX) 'y'", "ONNX Runtime 1.30", "sigmoid"});
  EXPECT_TRUE(runtime_warnings(softmax(2)).empty());
}

TEST(RuntimeWarnings, OfScalesOfInt16ThatAreNearPowersOfTwo) {
  const auto warned = [](OpCode code, float scale) {
    const QuantParams out = definition(code).fixed_int16_grid();
    return make_unary(code, {"x", DType::int16, {1, 4}, {}, quant(scale, 0, DType::int16), {}},
                      {"y", DType::int16, {1, 4}, {}, out, {}});
  };
  expect_one(warned(OpCode::logistic, 8.0F / 32767), {"(LOGISTIC) 'y'", "counts as 2^-12"});
  expect_one(warned(OpCode::tanh, 1.0F / 2048), {"(TANH) 'y'", "TFLite Micro keeps to its table"});
  EXPECT_TRUE(runtime_warnings(warned(OpCode::logistic, 1.0F / 2048)).empty());
  EXPECT_TRUE(runtime_warnings(warned(OpCode::tanh, 10.0F / 32767)).empty());
  const auto sum = [](float scale) {
    const QuantParams grid = quant(scale, 0, DType::int16);
    RawModelBuilder b;
    b.model.inputs = {b.activation("x", {1, 4}, DType::int16, grid)};
    b.model.outputs = {b.activation("y", {1, 4}, DType::int16, grid)};
    b.op(OpCode::add, {0, 0}, 1);
    return b.model;
  };
  expect_one(sum(0.25F), {"(ADD) 'y'", "powers of two"});
  EXPECT_TRUE(runtime_warnings(sum(0.3F)).empty());
}

TEST(RuntimeWarnings, OfDenseLayersOnInt16) {
  expect_one(int16_inner(int16_mlp(make_mlp(1, {9, 5}, false, true))),
             {"(FULLY_CONNECTED)", "LiteRT.js 2.5.3", "q15"});
}

TEST(RuntimeWarnings, OfStatesThatRuntimesDoNotKeep) {
  expect_one(lstm_model({}), {"(UNIDIRECTIONAL_SEQUENCE_LSTM) 'y'", "LiteRT.js", "CMSIS-NN"});
  expect_one(svdf_model(DType::float32), {"(SVDF) 'y'", "LiteRT.js", "a layer SVDF"});
  // What is said of integers, behind that.
  const auto expect_two = [](DType state, FusedActivation activation, std::int32_t zero_point,
                             const std::string& says) {
    Draw draw(1);
    const Svdf s{
        .attributes = {.activation = activation}, .state = state, .y = quant(0.1F, zero_point)};
    const std::vector<std::string> warnings = runtime_warnings(svdf_model(with_weights(s, draw)));
    ASSERT_EQ(warnings.size(), says.empty() ? 1U : 2U);
    EXPECT_NE(warnings.back().find(says), std::string::npos) << warnings.back();
  };
  const auto relu = FusedActivation::relu;
  expect_two(DType::int16, relu, -128, "");
  expect_two(DType::int16, relu, -127, "no runtime applies its RELU");
  expect_two(DType::int16, FusedActivation::none, -128, "LiteRT refuses it without RELU");
  expect_two(DType::int8, relu, -128, "CMSIS-NN and LiteRT compute other values");
}

TEST(RuntimeWarnings, OfADeadLayerThatLowerWrites) {
  Sequential net("m", Input({4}), Dense(3, Activation::relu, "dead"));
  net.build();
  Tensor kernel = net.parameters()[0].tensor;
  std::ranges::fill(kernel.mutable_span(), -1.0F);
  Sequential model = quantize_model(net);
  calibrate(model, Tensor::ones({2, 4}));
  expect_one(lower(model), {"'dead'", "rescale factor"});
}

TEST(RuntimeWarnings, OfNothingInCommonModels) {
  for (const bool per_channel : {false, true}) {
    EXPECT_TRUE(runtime_warnings(make_mlp(1, {9, 5, 3}, per_channel, true)).empty());
  }
  IntegerModel broken = make_layer({1.0F});
  broken.operators[0].inputs[0] = 77;
  EXPECT_THROW(runtime_warnings(broken), FormatError);
}

}  // namespace
}  // namespace octet::test::runtime_warnings_test
