// The numbers of the upstream unit tests, through the interpreter, where they are an operator.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/quant/quantize.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/core/quant/vectors.h>
#include <octet/tests/runtime/models.h>

#include <array>

namespace octet::test::interpreter_vectors_test {
namespace {

DType dtype_named(const std::string& name) {
  for (const DType dtype : {DType::int8, DType::uint8, DType::int16, DType::int32}) {
    if (name == to_string(dtype)) return dtype;
  }
  throw std::runtime_error("unknown type " + name);
}

std::vector<std::int32_t> shape32(const nlohmann::json& tensor) {
  const auto wide = shape_of(tensor);
  return {wide.begin(), wide.end()};
}

template <class T>
void put(Interpreter& interpreter, const nlohmann::json& data, std::size_t index = 0) {
  const auto values = integers<T>(data);
  const auto input = interpreter.input<T>(index);
  ASSERT_EQ(input.size(), values.size());
  std::copy(values.begin(), values.end(), input.begin());
}

void put_codes(Interpreter& interpreter, const nlohmann::json& data) {
  switch (interpreter.get_input_details()[0].dtype) {
    case DType::int8:
      return put<std::int8_t>(interpreter, data);
    case DType::uint8:
      return put<std::uint8_t>(interpreter, data);
    default:
      return put<std::int16_t>(interpreter, data);
  }
}

std::vector<std::int32_t> codes_of(Interpreter& interpreter) {
  const auto copy = [&]<class T>(T) {
    const auto output = interpreter.output<T>();
    return std::vector<std::int32_t>(output.begin(), output.end());
  };
  switch (interpreter.get_output_details()[0].dtype) {
    case DType::int8:
      return copy(std::int8_t{});
    case DType::uint8:
      return copy(std::uint8_t{});
    default:
      return copy(std::int16_t{});
  }
}

void expect_codes(Interpreter& interpreter, const Vector& v) {
  const auto got = codes_of(interpreter);
  if (v.expected.contains("data")) return expect_close(got, v.expected.at("data"), v);
  std::vector<float> real(got.size());
  const auto details = interpreter.get_output_details()[0];
  for (std::size_t i = 0; i < got.size(); ++i) {
    real[i] = static_cast<float>(got[i] - details.quantization.second) * details.quantization.first;
  }
  expect_close(std::span<const float>(real), v.expected.at("dequantized"), v);
}

ModelTensor per_tensor(const Vector& v, const std::string& side, const nlohmann::json& tensor,
                       DType dtype = DType::int8) {
  return {side,
          dtype,
          shape32(tensor),
          {},
          quant(v.params.at(side + "_scale"), v.params.at(side + "_zero_point"), dtype),
          {}};
}

ModelTensor codes_tensor(const Vector& v, DType dtype) {
  const auto [lo, hi] = integer_limits(dtype);
  return {"codes",
          dtype,
          shape32(v.input),
          {},
          {floats(v.params.at("scales")), integers<std::int32_t>(v.params.at("zero_points")),
           v.params.at("quantized_dimension"), lo, hi},
          {}};
}

void run_fully_connected(const Vector& v) {
  RawModelBuilder b;
  b.model.inputs = {b.add(per_tensor(v, "input", v.input.at("x")))};
  const auto w_scales = floats(v.params.at("weight_scales"));
  QuantParams weights{w_scales,
                      std::vector<std::int32_t>(w_scales.size(), v.params.at("weight_zero_point")),
                      v.params.at("quantized_dimension"), -128, 127};
  const float in_scale = v.params.at("input_scale");
  QuantParams bias{{}, std::vector<std::int32_t>(w_scales.size()), 0, 0, 0};
  for (const float scale : w_scales) bias.scales.push_back(in_scale * scale);
  const auto weight_shape = shape32(v.input.at("weights"));
  const std::int32_t w =
      b.constant("w", weight_shape, DType::int8,
                 integers<std::int8_t>(v.input.at("weights").at("data")), weights);
  const std::int32_t z = b.constant("b", {weight_shape[0]}, DType::int32,
                                    integers<std::int32_t>(v.input.at("bias").at("data")), bias);
  b.model.outputs = {b.add(per_tensor(v, "output", v.expected))};
  const std::string activation = v.params.at("activation");
  const Operator& op =
      b.op(OpCode::fully_connected, {0, w, z}, b.model.outputs[0],
           FullyConnectedAttributes{
               .activation = activation == "relu" ? FusedActivation::relu : FusedActivation::none,
               .keep_num_dims = v.params.at("keep_num_dims")});
  ASSERT_EQ(activation, to_string(op.activation()));

  Interpreter interpreter(b.model, {.rounding = Rounding::double_rounding});
  put_codes(interpreter, v.input.at("x").at("data"));
  interpreter.invoke();
  expect_codes(interpreter, v);
}

void run_unary(const Vector& v, OpCode code) {
  const nlohmann::json& x = v.input.at("x");
  IntegerModel model =
      make_unary(code, per_tensor(v, "input", x), per_tensor(v, "output", v.expected));
  if (code == OpCode::softmax) {
    model.operators[0].as<SoftmaxAttributes>().beta = v.params.at("beta");
  }
  Interpreter interpreter(model, {.rounding = Rounding::double_rounding});
  put_codes(interpreter, x.at("data"));
  interpreter.invoke();
  expect_codes(interpreter, v);
}

void run_add(const Vector& v) {
  const nlohmann::json& x1 = v.input.at("x1");
  const nlohmann::json& x2 = v.input.at("x2");
  ASSERT_EQ(v.params.at("activation"), "none");
  RawModelBuilder b;
  b.model.inputs = {b.add(per_tensor(v, "input1", x1)), b.add(per_tensor(v, "input2", x2))};
  b.model.outputs = {b.add(per_tensor(v, "output", v.expected))};
  b.op(OpCode::add, b.model.inputs, b.model.outputs[0], BinaryAttributes{});
  Interpreter interpreter(b.model, {.rounding = Rounding::double_rounding});
  put<std::int8_t>(interpreter, x1.at("data"), 0);
  put<std::int8_t>(interpreter, x2.at("data"), 1);
  interpreter.invoke();
  expect_codes(interpreter, v);
}

FusedActivation activation_of(const Vector& v) {
  for (const auto activation : {FusedActivation::none, FusedActivation::relu,
                                FusedActivation::relu6, FusedActivation::relu_n1_to_1}) {
    if (v.params.at("activation") == to_string(activation)) return activation;
  }
  throw std::runtime_error("unknown activation");
}

Padding padding_of(const Vector& v) {
  return v.params.at("padding") == "same" ? Padding::same : Padding::valid;
}

void run_pool(const Vector& v, OpCode code) {
  const nlohmann::json& x = v.input.at("x");
  ModelTensor output = per_tensor(v, "output", x);
  output.shape = v.params.at("output_shape").get<std::vector<std::int32_t>>();
  IntegerModel model = make_unary(code, per_tensor(v, "input", x), output);
  model.operators[0].attributes = PoolAttributes{.padding = padding_of(v),
                                                 .stride_h = v.params.at("stride_h"),
                                                 .stride_w = v.params.at("stride_w"),
                                                 .filter_h = v.params.at("filter_h"),
                                                 .filter_w = v.params.at("filter_w"),
                                                 .activation = activation_of(v)};
  for (const Rounding rounding : {Rounding::fp32, Rounding::double_rounding}) {
    Interpreter interpreter(model, {.rounding = rounding});
    put_codes(interpreter, x.at("data"));
    interpreter.invoke();
    expect_codes(interpreter, v);
  }
}

void run_convolution(const Vector& v) {
  const nlohmann::json& x = v.input.at("x");
  const nlohmann::json& weights = v.input.at("weights");
  const auto scales = floats(v.params.at("weight_scales"));
  const QuantParams grid{scales, std::vector<std::int32_t>(scales.size()),
                         v.params.at("quantized_dimension"), -128, 127};
  RawModelBuilder b;
  b.model.inputs = {b.add(per_tensor(v, "input", x))};
  const auto shape = shape32(weights);
  const std::int32_t w =
      b.constant("w", shape, DType::int8, integers<std::int8_t>(weights.at("data")), grid);
  const std::int32_t bias = b.constant("b", shape32(v.input.at("bias")), DType::int32,
                                       integers<std::int32_t>(v.input.at("bias").at("data")));
  b.model.outputs = {b.add(per_tensor(v, "output", v.expected))};
  const Conv2DAttributes a{.padding = padding_of(v),
                           .stride_h = v.params.at("stride_h"),
                           .stride_w = v.params.at("stride_w"),
                           .dilation_h = v.params.at("dilation_h"),
                           .dilation_w = v.params.at("dilation_w"),
                           .activation = activation_of(v)};
  if (v.op == "conv_2d") {
    b.op(OpCode::conv_2d, {0, w, bias}, b.model.outputs[0], a);
  } else {
    b.op(OpCode::depthwise_conv_2d, {0, w, bias}, b.model.outputs[0],
         DepthwiseConv2DAttributes{.padding = a.padding,
                                   .stride_h = a.stride_h,
                                   .stride_w = a.stride_w,
                                   .dilation_h = a.dilation_h,
                                   .dilation_w = a.dilation_w,
                                   .depth_multiplier = v.params.at("depth_multiplier"),
                                   .activation = a.activation});
  }
  Interpreter interpreter(b.model, {.rounding = Rounding::double_rounding});
  put_codes(interpreter, x.at("data"));
  interpreter.invoke();
  expect_codes(interpreter, v);
}

void run_requantize(const Vector& v) {
  const DType from = dtype_named(v.params.at("input_type"));
  const DType to = dtype_named(v.params.at("output_type"));
  const IntegerModel model = make_unary(OpCode::quantize, per_tensor(v, "input", v.input, from),
                                        per_tensor(v, "output", v.input, to));
  if (size_of(from) > 1 || size_of(to) > 1) {
    EXPECT_THROW(Interpreter{model}, FormatError);
    return;
  }
  Interpreter interpreter(model, {.rounding = Rounding::double_rounding});
  put_codes(interpreter, v.input.at("data"));
  interpreter.invoke();
  expect_codes(interpreter, v);
}

void run_quantize(const Vector& v) {
  const ModelTensor real{"real", DType::float32, shape32(v.input), {}, {}, {}};
  Interpreter interpreter(
      make_unary(OpCode::quantize, real, codes_tensor(v, dtype_named(v.params.at("type")))),
      {.rounding = Rounding::double_rounding});
  const auto x = floats(v.input.at("data"));
  std::copy(x.begin(), x.end(), interpreter.input<float>().begin());
  interpreter.invoke();
  expect_codes(interpreter, v);
}

void run_dequantize(const Vector& v) {
  const ModelTensor real{"real", DType::float32, shape32(v.input), {}, {}, {}};
  Interpreter interpreter(
      make_unary(OpCode::dequantize, codes_tensor(v, dtype_named(v.params.at("type"))), real));
  put_codes(interpreter, v.input.at("data"));
  interpreter.invoke();
  expect_close(interpreter.output<float>(), v.expected.at("data"), v);
}

class OperatorVector : public ::testing::TestWithParam<Vector> {};

TEST_P(OperatorVector, AgreesThroughTheInterpreter) {
  const Vector& v = GetParam();
  SCOPED_TRACE(v.source);
  if (v.op == "add") return run_add(v);
  if (v.op == "average_pool_2d") return run_pool(v, OpCode::average_pool_2d);
  if (v.op == "conv_2d" || v.op == "depthwise_conv_2d") return run_convolution(v);
  if (v.op == "max_pool_2d") return run_pool(v, OpCode::max_pool_2d);
  if (v.op == "fully_connected") return run_fully_connected(v);
  if (v.op == "softmax") return run_unary(v, OpCode::softmax);
  if (v.op == "relu") return run_unary(v, OpCode::relu);
  if (v.op == "relu6") return run_unary(v, OpCode::relu6);
  if (v.op == "relu_n1_to_1") return run_unary(v, OpCode::relu_n1_to_1);
  if (v.op == "requantize") return run_requantize(v);
  if (v.op == "quantize") return run_quantize(v);
  run_dequantize(v);
}

const std::array<std::string, 13> kOperators{
    "add",        "average_pool_2d", "conv_2d",      "depthwise_conv_2d",
    "dequantize", "fully_connected", "max_pool_2d",  "quantize",
    "relu",       "relu6",           "relu_n1_to_1", "requantize",
    "softmax"};

INSTANTIATE_TEST_SUITE_P(All, OperatorVector, ::testing::ValuesIn(vectors_of(kOperators)),
                         [](const auto& test) { return test_name(test.param); });

TEST(OperatorVectors, AllAreThere) { EXPECT_EQ(vectors_of(kOperators).size(), 77U); }

}  // namespace
}  // namespace octet::test::interpreter_vectors_test
