#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/runtime/models.h>
#include <octet/tests/runtime/naive.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace octet::test::interpreter_operators_test {
namespace {

TEST(Interpreter, QuantizeRoundsHalvesAsTheContractSays) {
  const IntegerModel model = make_unary(OpCode::quantize, {"x", DType::float32, {1, 8}, {}, {}, {}},
                                        {"y", DType::int8, {1, 8}, {}, quant(2.0F, 3), {}});
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x{1, 3, -1, -3, infinity, -infinity, 1e30F, NAN};
  Interpreter even(model, {.rounding = Rounding::fp32});
  EXPECT_EQ((run<float, std::int8_t>(even, x)),
            (std::vector<std::int8_t>{3, 5, 3, 1, 127, -128, 127, 3}));
  for (const Rounding rounding : {Rounding::single_rounding, Rounding::double_rounding}) {
    Interpreter away(model, {.rounding = rounding});
    EXPECT_EQ((run<float, std::int8_t>(away, x)),
              (std::vector<std::int8_t>{4, 5, 2, 1, 127, -128, 127, 3}));
  }
}

TEST(Interpreter, BytesBecomeCodesExactly) {
  ModelTensor bytes{"x", DType::uint8, {1, 256}, {}, quant(0.1F, 100, DType::uint8), {}};
  ModelTensor codes{"y", DType::int8, {1, 256}, {}, quant(0.1F, -28), {}};
  std::vector<std::uint8_t> x(256);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint8_t>(i);
  for (const Rounding rounding : kContracts) {
    Interpreter there(make_unary(OpCode::quantize, bytes, codes), {.rounding = rounding});
    const auto y = run<std::uint8_t, std::int8_t>(there, x);
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], static_cast<int>(i) - 128);
    Interpreter back(make_unary(OpCode::quantize, codes, bytes), {.rounding = rounding});
    EXPECT_EQ((run<std::int8_t, std::uint8_t>(back, y)), x);
  }
}

TEST(Interpreter, TablesFollowTheirFunctions) {
  struct Case {
    OpCode code;
    float scale;
    std::int32_t zero_point;
    double (*function)(double);
  };
  const Case cases[] = {
      {OpCode::logistic, 1.0F / 256, -128, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {OpCode::tanh, 1.0F / 128, 0, [](double x) { return std::tanh(x); }},
      {OpCode::relu, 0.07F, -100, [](double x) { return std::max(x, 0.0); }},
      {OpCode::relu6, 0.07F, -100, [](double x) { return std::clamp(x, 0.0, 6.0); }},
      {OpCode::relu_n1_to_1, 0.07F, 5, [](double x) { return std::clamp(x, -1.0, 1.0); }}};
  std::vector<std::int8_t> x(256);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<std::int8_t>(static_cast<int>(i) - 128);
  for (const Case& c : cases) {
    const IntegerModel model =
        make_unary(c.code, {"x", DType::int8, {1, 256}, {}, quant(0.05F, 10), {}},
                   {"y", DType::int8, {1, 256}, {}, quant(c.scale, c.zero_point), {}});
    Interpreter interpreter(model, {.batch = 2});
    std::vector<std::int8_t> twice = x;
    twice.insert(twice.end(), x.begin(), x.end());
    const auto y = run<std::int8_t, std::int8_t>(interpreter, twice);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double real = c.function(0.05 * (twice[i] - 10)) / double{c.scale} + c.zero_point;
      EXPECT_NEAR(y[i], std::clamp(real, -128.0, 127.0), 0.501 + 1e-3) << to_string(c.code);
    }
  }
}

TEST(Interpreter, ConstantsThroughOperatorsComeOnce) {
  RawModelBuilder b;
  b.model.inputs = {b.activation("x", {1, 2}, DType::int8, quant(1, 0))};
  const std::int32_t c =
      b.constant("c", {2}, DType::int8, std::vector<std::int8_t>{-3, 5}, quant(0.5F, 1));
  const std::int32_t y = b.activation("y", {2}, DType::float32);
  b.op(OpCode::dequantize, {c}, y);
  b.model.outputs = {y, 0};
  Interpreter interpreter(b.model, {.batch = 4});
  interpreter.input<std::int8_t>()[7] = 9;
  interpreter.invoke();
  EXPECT_EQ(copy(std::as_const(interpreter).output<float>(0)), (std::vector<float>{-2, 2}));
  EXPECT_EQ(std::as_const(interpreter).output<std::int8_t>(1)[7], 9);
}

TEST(FloatModels, RunToo) {
  RawModelBuilder b;
  const auto real = [&](const char* name, std::int32_t n) {
    return b.activation(name, {1, n}, DType::float32);
  };
  b.model.inputs = {real("x", 3)};
  const std::int32_t w =
      b.constant("w", {2, 3}, DType::float32, std::vector<float>{1, 2, 3, -1, 0.5F, -4});
  const std::int32_t bias = b.constant("b", {2}, DType::float32, std::vector<float>{0.5F, 1});
  std::int32_t last = real("dense", 2);
  b.op(OpCode::fully_connected, {0, w, bias}, last,
       FullyConnectedAttributes{.activation = FusedActivation::relu6});
  const std::int32_t dense = last;
  for (const OpCode code : {OpCode::tanh, OpCode::logistic, OpCode::relu, OpCode::relu6,
                            OpCode::relu_n1_to_1, OpCode::softmax}) {
    const std::int32_t y = real("y", 2);
    b.op(code, {last}, y);
    last = y;
  }
  b.model.operators.back().as<SoftmaxAttributes>().beta = 2;
  b.model.outputs = {dense, last};
  Interpreter interpreter(from_tflite(to_tflite(b.model)), {.batch = 2});
  const std::vector<float> x{1, 0.5F, 0.25F, -1, -1, 1};
  std::copy(x.begin(), x.end(), interpreter.input<float>().begin());
  interpreter.invoke();
  EXPECT_EQ(copy(std::as_const(interpreter).output<float>(0)),
            (std::vector<float>{3.25F, 0, 0.5F, 0}));
  const auto y = std::as_const(interpreter).output<float>(1);
  for (std::size_t row = 0; row < 2; ++row) {
    const auto squash = [&](std::size_t i) {
      const double dense_value = std::as_const(interpreter).output<float>(0)[2 * row + i];
      return std::exp(2 / (1 + std::exp(-std::tanh(dense_value))));
    };
    EXPECT_NEAR(y[2 * row], squash(0) / (squash(0) + squash(1)), 1e-6);
  }
}

}  // namespace
}  // namespace octet::test::interpreter_operators_test
