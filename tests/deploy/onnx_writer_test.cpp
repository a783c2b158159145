#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/dense.h>
#include <octet/layers/depthwise_conv2d.h>
#include <octet/layers/lower.h>
#include <octet/layers/reshape.h>
#include <octet/layers/sequential.h>
#include <octet/layers/transposed_conv2d.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/deploy/onnx_evaluator.h>
#include <octet/tests/runtime/models.h>

#include <cmath>
#include <limits>
#include <set>

namespace octet::test::onnx_writer_test {
namespace {

using Ops = std::vector<std::string>;

const OnnxStyle kStyles[] = {OnnxStyle::exact, OnnxStyle::standard};

const ModelTensor& tensor_of(const IntegerModel& model, std::int32_t i) {
  return model.tensors[static_cast<std::size_t>(i)];
}

OnnxFile file_of(const IntegerModel& model, const OnnxOptions& options = {}) {
  return OnnxFile(to_onnx(model, options));
}

/// Codes, or reals, of `samples` samples of the model's first input.
OnnxTensor random_input(const IntegerModel& model, std::int64_t samples, std::uint64_t seed) {
  const ModelTensor& t = tensor_of(model, model.inputs[0]);
  OnnxTensor input{t.dtype == DType::float32 ? OnnxElement::float32 : OnnxElement::int8,
                   {t.shape.begin(), t.shape.end()},
                   {}};
  input.shape[0] = samples;
  Draw draw(seed);
  for (std::int64_t i = 0; i < samples * t.size(); ++i) {
    input.values.push_back(t.dtype == DType::float32 ? double{draw.uniform(-0.2F, 1.2F)}
                                                     : draw.between(-128, 127));
  }
  return input;
}

/// Runs the interpreter on what the ONNX file gets.
Interpreter interpreted(const IntegerModel& model, const OnnxTensor& input) {
  Interpreter interpreter(
      model, {.rounding = Rounding::fp32, .batch = input.shape[0], .keep_tensors = true});
  if (input.type == OnnxElement::float32) {
    std::ranges::transform(input.values, interpreter.input<float>().begin(),
                           [](double v) { return static_cast<float>(v); });
  } else {
    std::ranges::transform(input.values, interpreter.input<std::int8_t>().begin(),
                           [](double v) { return static_cast<std::int8_t>(v); });
  }
  interpreter.invoke();
  return interpreter;
}

std::vector<double> codes_of(const Interpreter& interpreter, std::int32_t i) {
  std::vector<double> codes;
  const bool is_signed = tensor_of(interpreter.model(), i).dtype == DType::int8;
  for (const std::byte b : interpreter.tensor_bytes(i)) {
    codes.push_back(is_signed ? int{static_cast<std::int8_t>(b)}
                              : int{static_cast<std::uint8_t>(b)});
  }
  return codes;
}

/// Every computed tensor of codes is the same in the file as in the interpreter.
void expect_equal_codes(const IntegerModel& model, const OnnxTensor& input,
                        std::int32_t except = -1) {
  const OnnxFile file = file_of(model, {.float_io = false});
  OnnxEvaluator onnx(file);
  onnx.run(input);
  const Interpreter interpreter = interpreted(model, input);
  for (std::int32_t i = 0; i < std::ssize(model.tensors); ++i) {
    const ModelTensor& t = tensor_of(model, i);
    if (t.is_constant() || !t.is_quantized() || i == except) continue;
    EXPECT_EQ(onnx.value(t.name).values, codes_of(interpreter, i)) << t.name;
  }
}

TEST(OnnxWriter, HeaderEndsAndMetadata) {
  IntegerModel model = make_mlp(1, {7, 5, 3}, false, false);
  model.name = "small";
  const OnnxFile file = file_of(model);
  EXPECT_EQ(file.ir_version, 7);
  EXPECT_EQ(file.opset, 13);
  EXPECT_EQ(file.producer, "octet");
  EXPECT_EQ(file.name, "small");
  EXPECT_EQ(file.metadata.at("octet.rounding"), "fp32");
  ASSERT_EQ(file.inputs.size(), 1U);
  ASSERT_EQ(file.outputs.size(), 1U);
  EXPECT_EQ(file.inputs[0].name, "input_1");
  EXPECT_EQ(file.inputs[0].type, OnnxElement::float32);
  EXPECT_EQ(file.inputs[0].dims, (Ops{"batch", "7"}));
  EXPECT_EQ(file.outputs[0].name, "softmax");
  EXPECT_EQ(file.outputs[0].type, OnnxElement::float32);
  EXPECT_EQ(file.outputs[0].dims, (Ops{"batch", "3"}));
  EXPECT_EQ(file.nodes.front().op, "QuantizeLinear");
  EXPECT_EQ(file.nodes.back().op, "DequantizeLinear");
  EXPECT_EQ(to_onnx(model), to_onnx(model));
}

TEST(OnnxWriter, StandardStyleHasEveryScaleAtItsTensor) {
  for (const bool per_channel : {false, true}) {
    const IntegerModel model = make_mlp(2, {6, 5, 3}, per_channel, true);
    const OnnxFile file = file_of(model, {.style = OnnxStyle::standard});
    EXPECT_EQ(file.ops(),
              (Ops{"QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "DequantizeLinear",
                   "Gemm", "QuantizeLinear", "DequantizeLinear", "DequantizeLinear",
                   "DequantizeLinear", "Gemm", "QuantizeLinear", "DequantizeLinear", "Softmax",
                   "QuantizeLinear", "DequantizeLinear"}));
    const Operator& dense = model.operators[1];
    const OnnxNode& gemm = file.nodes[4];
    for (std::size_t i = 0; i < 3; ++i) {
      const ModelTensor& t = tensor_of(model, dense.inputs[i]);
      const OnnxNode& node = file.producer_of(gemm.inputs.at(i));
      ASSERT_EQ(node.op, "DequantizeLinear");
      const auto& scales = file.constants.at(node.inputs.at(1));
      EXPECT_EQ(scales.values,
                std::vector<double>(t.quantization.scales.begin(), t.quantization.scales.end()));
      EXPECT_EQ(scales.shape.size(), t.quantization.per_channel() ? 1U : 0U);
      EXPECT_EQ(node.attributes.contains("axis"), t.quantization.per_channel());
      const auto& zeros = file.constants.at(node.inputs.at(2));
      // Activations are written as uint8.
      std::vector<double> expected(t.quantization.zero_points.begin(),
                                   t.quantization.zero_points.end());
      if (i == 0) expected.at(0) += 128.0;
      EXPECT_EQ(zeros.values, expected);
      const OnnxElement types[] = {OnnxElement::uint8, OnnxElement::int8, OnnxElement::int32};
      EXPECT_EQ(zeros.type, types[i]);
    }
    const OnnxTensor& weights = file.constants.at("dense_1/kernel");
    EXPECT_EQ(weights.type, OnnxElement::int8);
    EXPECT_EQ(weights.shape, (std::vector<std::int64_t>{5, 6}));
    EXPECT_EQ(weights.values, to_doubles<std::int8_t>(tensor_of(model, dense.inputs[1]).data));
    const OnnxTensor& bias = file.constants.at("dense_1/bias");
    EXPECT_EQ(bias.type, OnnxElement::int32);
    EXPECT_EQ(bias.values, to_doubles<std::int32_t>(tensor_of(model, dense.inputs[2]).data));
  }
}

TEST(OnnxWriter, ExactStyleSumsWholeNumbersAndRescalesOnce) {
  for (const bool per_channel : {false, true}) {
    const IntegerModel model = make_mlp(3, {6, 5}, per_channel, true);
    const OnnxFile file = file_of(model);
    const Operator& dense = model.operators[1];
    const OnnxNode& gemm = file.producer_of("dense_1/sum");
    for (const std::string& term : gemm.inputs) {
      const OnnxNode& node = file.producer_of(term);
      ASSERT_EQ(node.op, "DequantizeLinear");
      EXPECT_EQ(file.constants.at(node.inputs.at(1)).values, std::vector<double>{1.0});
    }
    const OnnxNode& mul = file.producer_of("dense_1/rescaled");
    ASSERT_EQ(mul.op, "Mul");
    const float in = tensor_of(model, dense.inputs[0]).quantization.scale();
    const float out = tensor_of(model, dense.outputs[0]).quantization.scale();
    std::vector<double> factors;
    for (const float w : tensor_of(model, dense.inputs[1]).quantization.scales) {
      factors.push_back(double{in * w / out});
    }
    EXPECT_EQ(file.constants.at(mul.inputs.at(1)).values, factors);
    EXPECT_EQ(factors.size(), per_channel ? 5U : 1U);
    const OnnxNode& quantize = file.producer_of("dense_1");
    ASSERT_EQ(quantize.op, "QuantizeLinear");
    EXPECT_EQ(file.constants.at(quantize.inputs.at(1)).values, std::vector<double>{1.0});
  }
}

TEST(OnnxWriter, ExactStyleGivesTheInterpretersCodes) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const IntegerModel model =
        make_mlp(seed, {33, 17, static_cast<std::int32_t>(seed) + 1, 5}, seed % 2 == 0, false);
    const std::int32_t softmax = model.operators.back().outputs[0];
    expect_equal_codes(model, random_input(model, static_cast<std::int64_t>(seed) + 1, seed),
                       softmax);
  }
}

TEST(OnnxWriter, ActivationsAndZeroPointsOfADenseLayer) {
  for (const FusedActivation activation : {FusedActivation::none, FusedActivation::relu,
                                           FusedActivation::relu6, FusedActivation::relu_n1_to_1}) {
    for (const std::int32_t zero_point : {-128, -30, 127}) {
      for (const std::int32_t weight_zero_point : {0, 9}) {
        Draw draw(8);
        RawModelBuilder b;
        b.model.inputs = {b.activation("x", {1, 9}, DType::int8, quant(0.02F, 11))};
        DenseSpec spec;
        spec.bias = zero_point != -30;
        spec.weight_zero_point = weight_zero_point;
        spec.activation = activation;
        spec.output_scale = 0.03F;
        spec.output_zero_point = zero_point;
        b.model.outputs = {add_dense(b, 0, spec, draw)};
        expect_equal_codes(b.model, random_input(b.model, 40, 3));
      }
    }
  }
}

TEST(OnnxWriter, AReluThatTheCodesDoThemselvesTakesNoClamp) {
  const auto has_clip = [](std::int32_t zero_point, OnnxStyle style) {
    Draw draw(8);
    RawModelBuilder b;
    b.model.inputs = {b.activation("x", {1, 9}, DType::int8, quant(0.02F, 11))};
    DenseSpec spec;
    spec.activation = FusedActivation::relu;
    spec.output_zero_point = zero_point;
    b.model.outputs = {add_dense(b, 0, spec, draw)};
    const Ops ops = file_of(b.model, {.style = style}).ops();
    return std::ranges::count(ops, "Clip") > 0;
  };
  for (const OnnxStyle style : kStyles) {
    EXPECT_FALSE(has_clip(-128, style));
    EXPECT_TRUE(has_clip(-127, style));
  }
}

TEST(OnnxWriter, FunctionsOfOneCodeAreTables) {
  OnnxTensor every{OnnxElement::int8, {1, 256}, {}};
  for (int code = -128; code < 128; ++code) every.values.push_back(code);
  const ModelTensor x{"x", DType::int8, {1, 256}, {}, quant(0.031F, -7), {}};
  const std::pair<OpCode, QuantParams> cases[] = {
      {OpCode::relu, quant(0.045F, -1)},       {OpCode::relu6, quant(0.02F, -128)},
      {OpCode::relu_n1_to_1, quant(0.01F, 3)}, {OpCode::logistic, quant(1.0F / 256, -128)},
      {OpCode::tanh, quant(1.0F / 128, 0)},    {OpCode::quantize, quant(0.07F, 20)}};
  for (const auto& [code, params] : cases) {
    SCOPED_TRACE(to_string(code));
    expect_equal_codes(make_unary(code, x, {"y", DType::int8, {1, 256}, {}, params, {}}), every);
  }
  const ModelTensor bytes{"y", DType::uint8, {1, 256}, {}, quant(0.031F, 121, DType::uint8), {}};
  expect_equal_codes(make_unary(OpCode::quantize, x, bytes), every);
}

// ONNX Runtime makes one pair of a scale of its own of two with nothing, or with a Clip or Relu
// that the saturation repeats, in between.
TEST(OnnxWriter, StandardStyleKeepsPairsOfTwoGridsApart) {
  constexpr float kScale = 0.031F;
  constexpr std::int32_t kZeroPoint = -7;
  const ModelTensor x{"x", DType::int8, {1, 256}, {}, quant(kScale, kZeroPoint), {}};
  std::vector<std::int8_t> every;
  for (int code = -128; code < 128; ++code) every.push_back(static_cast<std::int8_t>(code));
  struct Case {
    OpCode code;
    QuantParams out;
    float lo;
    float hi;
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Case cases[] = {{OpCode::relu, quant(0.045F, -128), 0.0F, kInfinity},
                        {OpCode::relu, quant(0.045F, -1), 0.0F, kInfinity},
                        {OpCode::relu6, quant(0.05F, -128), 0.0F, 6.0F},
                        {OpCode::relu_n1_to_1, quant(0.01F, 3), -1.0F, 1.0F},
                        {OpCode::quantize, quant(0.07F, 20), -kInfinity, kInfinity}};
  for (const Case& c : cases) {
    SCOPED_TRACE(to_string(c.code));
    const OnnxFile file =
        file_of(make_unary(c.code, x, {"y", DType::int8, {1, 256}, {}, c.out, {}}),
                {.style = OnnxStyle::standard, .float_io = false});
    const std::string& before = file.producer_of(file.producer_of("y").inputs.at(0)).op;
    EXPECT_TRUE(before == "Max" || before == "Min") << before;
    OnnxEvaluator onnx(file);
    onnx.run(code_input(file, x.shape, every));
    const auto found = int8_codes(onnx.value("y"));
    for (std::size_t i = 0; i < every.size(); ++i) {
      const float real = static_cast<float>(every[i] - kZeroPoint) * kScale;
      const float steps = std::nearbyint(std::clamp(real, c.lo, c.hi) / c.out.scale());
      const float code =
          std::clamp(steps + static_cast<float>(c.out.zero_point()), -128.0F, 127.0F);
      EXPECT_EQ(found[i], double{code}) << int{every[i]};
    }
  }
}

TEST(OnnxWriter, RowsOfAnyRankAndReshape) {
  Draw draw(8);
  RawModelBuilder b;
  ModelTensor x{"x", DType::int8, {1, 4, 3}, {-1, 4, 3}, quant(0.02F, 11), {}};
  b.model.inputs = {b.add(x)};
  x.name = "flat";
  x.shape = {1, 12};
  x.shape_signature = {-1, 12};
  const std::int32_t flat = b.add(x);
  b.op(OpCode::reshape, {0}, flat, ReshapeAttributes{.new_shape = {-1, 12}});
  b.model.outputs = {add_dense(b, flat, {}, draw)};
  expect_equal_codes(b.model, random_input(b.model, 5, 3));

  RawModelBuilder kept;
  x.shape = {2, 4, 3};
  x.shape_signature.clear();
  kept.model.inputs = {kept.add(x)};
  DenseSpec spec;
  const std::int32_t y = add_dense(kept, 0, spec, draw);
  kept.model.operators.back().as<FullyConnectedAttributes>().keep_num_dims = true;
  kept.model.tensors[static_cast<std::size_t>(y)].shape = {2, 4, 3};
  kept.model.tensors[static_cast<std::size_t>(y)].shape_signature.clear();
  kept.model.outputs = {y};
  OnnxTensor input{OnnxElement::int8, {2, 4, 3}, {}};
  for (int i = 0; i < 24; ++i) input.values.push_back(draw.between(-128, 127));
  const OnnxFile file = file_of(kept.model, {.float_io = false});
  OnnxEvaluator onnx(file);
  onnx.run(input);
  EXPECT_EQ(onnx.value("dense_0").shape, (std::vector<std::int64_t>{2, 4, 3}));
  Interpreter interpreter(kept.model, {.keep_tensors = true});
  std::ranges::transform(input.values, interpreter.input<std::int8_t>().begin(),
                         [](double v) { return static_cast<std::int8_t>(v); });
  interpreter.invoke();
  EXPECT_EQ(onnx.value("dense_0").values, codes_of(interpreter, y));
  EXPECT_EQ(file_of(kept.model, {.style = OnnxStyle::standard, .float_io = false}).ops(),
            (Ops{"DequantizeLinear", "DequantizeLinear", "MatMul", "DequantizeLinear", "Add",
                 "QuantizeLinear"}));
}

TEST(OnnxWriter, EndsAreRealsOrTheModelsOwn) {
  const IntegerModel model = make_mlp(4, {6, 5, 3}, false, false);
  const OnnxFile codes = file_of(model, {.float_io = false});
  EXPECT_EQ(codes.inputs[0].type, OnnxElement::int8);
  EXPECT_EQ(codes.outputs[0].type, OnnxElement::int8);

  const OnnxFile reals = file_of(model);
  OnnxTensor input{OnnxElement::float32, {4, 6}, {}};
  Draw draw(5);
  for (int i = 0; i < 24; ++i) input.values.push_back(double{draw.uniform(-0.2F, 1.2F)});
  OnnxEvaluator onnx(reals);
  onnx.run(input);
  const IntegerModel with_ends = make_mlp(4, {6, 5, 3}, false, true);
  const Interpreter interpreter = interpreted(with_ends, input);
  const auto output = interpreter.output<float>();
  const auto& found = onnx.value("softmax").values;
  ASSERT_EQ(found.size(), output.size());
  // The softmax itself is computed in floating point.
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], output[i], 1.01 / 256);
}

TEST(OnnxWriter, CodesOfAnyTensorAsFurtherOutputs) {
  const IntegerModel model = make_mlp(4, {6, 5, 3}, false, false);
  const OnnxFile file = file_of(model, {.code_outputs = {"dense_1", "softmax"}});
  ASSERT_EQ(file.outputs.size(), 3U);
  EXPECT_EQ(file.outputs[1].name, "dense_1");
  EXPECT_EQ(file.outputs[1].type, OnnxElement::int8);
  EXPECT_EQ(file.outputs[2].name, "softmax/codes");
  const OnnxFile codes = file_of(model, {.float_io = false, .code_outputs = {"softmax"}});
  EXPECT_EQ(codes.outputs.size(), 1U);
  for (const std::string name : {"dense_0/kernel", "nothing"}) {
    expect_throws<InvalidArgument>([&] { to_onnx(model, {.code_outputs = {name}}); }, {name});
  }
}

TEST(OnnxWriter, AnInputMayBeAnOutput) {
  RawModelBuilder b;
  b.model.inputs = {b.activation("x", {1, 2}, DType::int8, quant(0.5F, -3))};
  b.model.outputs = b.model.inputs;
  const OnnxFile own = file_of(b.model, {.float_io = false});
  EXPECT_EQ(own.ops(), Ops{"Identity"});
  EXPECT_NE(own.inputs.at(0).name, own.outputs.at(0).name);
  const OnnxFile reals = file_of(b.model);
  EXPECT_EQ(reals.ops(), (Ops{"QuantizeLinear", "DequantizeLinear"}));
  EXPECT_NE(reals.inputs.at(0).name, reals.outputs.at(0).name);
}

TEST(OnnxWriter, NamesAreGivenOnce) {
  IntegerModel model = make_mlp(4, {6, 5, 3}, false, false);
  for (ModelTensor& t : model.tensors) t.name = t.is_constant() ? "" : "same";
  const OnnxFile file = file_of(model);
  std::set<std::string> names{file.inputs[0].name};
  for (const OnnxNode& node : file.nodes) EXPECT_TRUE(names.insert(node.output).second);
  for (const auto& constant : file.constants) EXPECT_TRUE(names.insert(constant.first).second);
  EXPECT_TRUE(names.contains(file.outputs[0].name));
}

void expect_float_model(Sequential net) {
  net.build(3);
  const IntegerModel model = lower_float(net);
  const OnnxTensor input = random_input(model, 4, 9);
  const OnnxFile file = file_of(model);
  OnnxEvaluator onnx(file);
  onnx.run(input);
  const Interpreter interpreter = interpreted(model, input);
  const auto output = interpreter.output<float>();
  const auto& found = onnx.value(file.outputs[0].name).values;
  ASSERT_EQ(found.size(), output.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], output[i], 1e-5);
}

TEST(OnnxWriter, FloatModels) {
  expect_float_model(Sequential("float", Input({2, 3}), Flatten(), Dense(5, Activation::relu),
                                Dense(4, Activation::relu6), Dense(3, Activation::softmax)));
  expect_float_model(Sequential("images", Input({4, 5, 2}), Conv2D(3, {2, 3}, Activation::relu),
                                DepthwiseConv2D({2, 2}), TransposedConv2D(2, {2, 2})));
}

}  // namespace
}  // namespace octet::test::onnx_writer_test
