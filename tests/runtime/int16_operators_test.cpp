#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/runtime/int16_models.h>
#include <octet/tests/runtime/matmul_models.h>
#include <octet/tests/runtime/packed_models.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace octet::test::int16_operators_test {
namespace {

using Codes = std::vector<std::int16_t>;

Codes computed(const IntegerModel& model, const Codes& x, Index batch = 1) {
  Interpreter interpreter(model, {.batch = batch});
  EXPECT_EQ(interpreter.rounding(), Rounding::q15);
  return run<std::int16_t, std::int16_t>(interpreter, x);
}

std::size_t input_size(const IntegerModel& model) {
  return static_cast<std::size_t>(model.tensors[static_cast<std::size_t>(model.inputs[0])].size());
}

void expect_refused(const IntegerModel& model, const std::vector<std::string>& parts,
                    InterpreterOptions options = {}) {
  expect_throws<FormatError>([&] { const Interpreter interpreter(model, options); }, parts);
}

/// One FULLY_CONNECTED; depths beyond 256 are added up in several parts.
IntegerModel dense_model(Draw& draw) {
  RawModelBuilder b;
  const std::int32_t depth = draw.between(0, 5) == 0 ? draw.between(250, 800) : draw.between(1, 70);
  const std::int32_t x =
      b.activation("x", {draw.between(1, 5), depth}, DType::int8, quant(0.05F, 0));
  b.model.tensors[0].shape_signature.clear();
  b.model.inputs = {x};
  b.model.outputs = {add_dense(b, x,
                               {.units = draw.between(1, 19),
                                .per_channel = draw.between(0, 1) == 0,
                                .bias = draw.between(0, 3) > 0,
                                .activation = static_cast<FusedActivation>(draw.between(0, 3)),
                                .output_scale = draw.uniform(0.02F, 0.4F)},
                               draw)};
  b.model.tensors[static_cast<std::size_t>(b.model.outputs[0])].shape_signature.clear();
  return as_int16(b.model);
}

TEST(Int16, FullyConnectedIsItsDefinition) {
  Draw draw(1);
  for (int round = 0; round < 200; ++round) {
    const IntegerModel model = dense_model(draw);
    const Codes x = random_int16(input_size(model), draw);
    ASSERT_EQ(computed(model, x), naive_int16_dense(model, 0, x)) << round;
  }
}

/// Products of two powers of two lie half way between two codes in one sum of four.
TEST(Int16, TiesGoUp) {
  Draw draw(3);
  for (const OpCode code : {OpCode::fully_connected, OpCode::conv_2d, OpCode::depthwise_conv_2d}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const IntegerModel of_int8 = few_bits_model({.code = code, .depth = 7}, seed);
      const IntegerModel model = as_int16(of_int8);
      const Codes x = random_int16(input_size(model), draw);
      const Codes y = computed(model, x);
      if (code == OpCode::fully_connected) {
        ASSERT_EQ(y, naive_int16_dense(model, 0, x));
      }
    }
  }
  // 3 * 2^-1 = 1.5 -> 2, and -3 * 2^-1 = -1.5 -> -1.
  RawModelBuilder b;
  const QuantParams one = quant(1.0F, 0, DType::int16);
  b.activation("x", {1, 1}, DType::int16, one);
  b.constant("w", {1, 1}, DType::int8, std::vector<std::int8_t>{1}, quant(0.5F, 0));
  b.constant("b", {1}, DType::int64, std::vector<std::int64_t>{0},
             QuantParams::per_tensor(0.5F, 0, 0, 0));
  b.activation("y", {1, 1}, DType::int16, one);
  b.op(OpCode::fully_connected, {0, 1, 2}, 3);
  b.model.inputs = {0};
  b.model.outputs = {3};
  EXPECT_EQ(computed(b.model, {3, -3, 5, -5}, 4), (Codes{2, -1, 3, -2}));
}

/// -32768 * -128, 1,000 times, is more than int32 holds.
TEST(Int16, SumsAreExactBeyondInt32) {
  constexpr std::int32_t kDepth = 1000;
  RawModelBuilder b;
  b.activation("x", {1, kDepth}, DType::int16, quant(1.0F, 0, DType::int16));
  b.constant("w", {1, kDepth}, DType::int8, std::vector<std::int8_t>(kDepth, -128), quant(1.0F, 0));
  b.constant("b", {1}, DType::int64, std::vector<std::int64_t>{-4194304000LL + 1048576},
             QuantParams::per_tensor(1.0F, 0, 0, 0));
  b.activation("y", {1, 1}, DType::int16, quant(1024.0F, 0, DType::int16));
  b.op(OpCode::fully_connected, {0, 1, 2}, 3);
  b.model.inputs = {0};
  b.model.outputs = {3};
  EXPECT_EQ(computed(b.model, Codes(kDepth, -32768)), (Codes{1024}));
}

TEST(Int16, RunsFromRealsToReals) {
  const IntegerModel model = int16_mlp(make_mlp(5, {9, 14, 4}, true, true));
  Interpreter interpreter(model, {.batch = 2, .keep_tensors = true});
  Draw draw(5);
  std::vector<float> x(18);
  for (float& value : x) value = draw.uniform(-1.0F, 1.0F);
  const std::vector<float> y = interpreter.run(x);
  ASSERT_EQ(y.size(), 8U);
  // Layer by layer, from the codes that QUANTIZE made: x / scale, ties away from zero.
  const auto& first = model.tensors[static_cast<std::size_t>(model.operators[0].outputs[0])];
  Codes codes;
  for (const float value : x) {
    codes.push_back(naive_int16_code(std::round(double{value / first.quantization.scale()}),
                                     FusedActivation::none, 1.0F));
  }
  codes = naive_int16_dense(model, 1, codes);
  codes = naive_int16_dense(model, 2, codes);
  const auto& last = model.tensors[static_cast<std::size_t>(model.operators[2].outputs[0])];
  std::vector<std::int32_t> classes;
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(y[i], last.quantization.scale() * static_cast<float>(codes[i])) << i;
  }
  for (const auto row : {codes.begin(), codes.begin() + 4}) {
    classes.push_back(static_cast<std::int32_t>(std::max_element(row, row + 4) - row));
  }
  EXPECT_EQ(interpreter.predict(x), classes);

  // Equal from int16 to int16.
  Interpreter of_codes(int16_inner(model), {.batch = 2});
  EXPECT_EQ(of_codes.run(x), y);
  EXPECT_EQ(of_codes.predict(x), classes);
}

TEST(Int16, ReshapeKeepsCodes) {
  const ModelTensor x{"x", DType::int16, {1, 6}, {}, quant(0.5F, 0, DType::int16), {}};
  ModelTensor y = x;
  y.shape = {2, 3};
  Interpreter interpreter(make_unary(OpCode::reshape, x, y), {.rounding = Rounding::q15});
  const Codes codes{-32768, 1, -2, 3, -4, 32767};
  EXPECT_EQ((run<std::int16_t, std::int16_t>(interpreter, codes)), codes);
}

TEST(Int16, IsRefusedByName) {
  Draw draw(6);
  Conv c = draw_conv(draw);
  c.bias.assign(static_cast<std::size_t>(c.units()), 3);
  const IntegerModel model = as_int16(model_of(c));
  for (const Rounding other : kContracts) {
    expect_refused(model, {"operator 0 (CONV_2D)", "expected rounding mode q15"},
                   {.rounding = other});
  }
  expect_refused(model_of(c), {"CONV_2D", "int8 -> int8", "fp32, single or double"},
                 {.rounding = Rounding::q15});
  Matmul product{.dtype = DType::int16};
  product.params.fill(quant(0.01F, 0, DType::int16));
  expect_refused(matmul_model(product), {"BATCH_MATMUL", "q15"}, {.rounding = Rounding::fp32});
  IntegerModel changed = model;
  changed.operators[0].inputs.resize(2);
  expect_refused(changed, {"expected a bias of int64", "none"});
  changed = model;
  changed.operators[0].inputs[2] = 2;
  expect_refused(changed, {"expected a bias of int64", "int32"});
  changed = model;
  changed.tensors[0].quantization.zero_points = {1};
  expect_refused(changed, {"zero points 0", "'x'"});
  changed = as_int16(few_bits_model({.code = OpCode::conv_2d}, 1));
  expect_refused(stored_in(changed, 4), {"stored in 8 bits", "found 4"});

  const ModelTensor codes{"x", DType::int16, {1, 4}, {}, quant(0.1F, 0, DType::int16), {}};
  for (const OpCode code : {OpCode::relu, OpCode::elu, OpCode::softmax}) {
    expect_refused(make_unary(code, codes, codes),
                   {std::string(to_string(code)), "int16", "not supported"});
  }
  const ModelTensor bytes{"y", DType::int8, {1, 4}, {}, quant(0.1F, 0), {}};
  expect_refused(make_unary(OpCode::quantize, codes, bytes),
                 {"QUANTIZE", "types (int16) -> int8 are not supported"});
  expect_refused(make_unary(OpCode::quantize, bytes, codes),
                 {"QUANTIZE", "types (int8) -> int16 are not supported"});
}

/// `code` of all int16 values, 257 apart.
std::vector<std::int16_t> sigmoids(OpCode code, float scale, const std::vector<std::int16_t>& x) {
  const auto size = static_cast<std::int32_t>(x.size());
  Interpreter interpreter(
      make_unary(code, {"x", DType::int16, {1, size}, {}, quant(scale, 0, DType::int16), {}},
                 {"y", DType::int16, {1, size}, {}, quant(1.0F / 32768, 0, DType::int16), {}}),
      {.rounding = Rounding::q15});
  return run<std::int16_t, std::int16_t>(interpreter, x);
}

TEST(Int16, LogisticAndTanhAreNearTheirFunctions) {
  std::vector<std::int16_t> x;
  for (int q = -32768; q <= 32767; q += 257) x.push_back(static_cast<std::int16_t>(q));
  for (const float scale : {1e-7F, 3e-5F, 10.0F / 32767, 1.0F / 4096, 1.0F / 2048, 1e-3F, 5.0F}) {
    const auto logistic = sigmoids(OpCode::logistic, scale, x);
    const auto tanh = sigmoids(OpCode::tanh, scale, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double real = double{scale} * x[i];
      EXPECT_NEAR(logistic[i], std::min(32768 / (1 + std::exp(-real)), 32767.0), 4.0) << scale;
      EXPECT_NEAR(tanh[i], std::min(32768 * std::tanh(real), 32767.0), 8.0) << scale;
    }
  }
  EXPECT_THROW(sigmoids(OpCode::tanh, 5.4F, x), FormatError);
}

TEST(Int16, SumsAndProductsAreNearTheirFunctions) {
  Draw draw(3);
  const std::vector<std::int16_t> a = random_int16(500, draw);
  const std::vector<std::int16_t> b = random_int16(500, draw);
  for (const OpCode code : {OpCode::add, OpCode::sub, OpCode::mul}) {
    const float first = draw.uniform(1e-5F, 1e-3F);
    const float second = draw.uniform(1e-5F, 1e-3F);
    const float out = code == OpCode::mul ? first * second * 20000.0F : first + second;
    RawModelBuilder builder;
    const auto add = [&](const char* name, float scale) {
      return builder.activation(name, {1, 500}, DType::int16, quant(scale, 0, DType::int16));
    };
    builder.model.inputs = {add("a", first), add("b", second)};
    builder.model.outputs = {add("y", out)};
    builder.op(code, {0, 1}, 2, BinaryAttributes{.activation = FusedActivation::relu});
    Interpreter interpreter(builder.model, {.rounding = Rounding::q15});
    std::ranges::copy(a, interpreter.input<std::int16_t>(0).begin());
    std::ranges::copy(b, interpreter.input<std::int16_t>(1).begin());
    interpreter.invoke();
    const auto y = std::as_const(interpreter).output<std::int16_t>();
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double x = double{first} * a[i];
      const double z = double{second} * b[i];
      const double real = code == OpCode::add ? x + z : code == OpCode::sub ? x - z : x * z;
      EXPECT_NEAR(y[i], std::clamp(real / double{out}, 0.0, 32767.0), 1.0);
    }
  }
}

TEST(Int16, RefusesSumsThatRuntimesWouldWrap) {
  RawModelBuilder b;
  b.activation("x", {1, 1}, DType::int16, quant(1.0F, 0, DType::int16));
  b.constant("w", {1, 1}, DType::int8, std::vector<std::int8_t>{1}, quant(1.0F, 0));
  b.constant("b", {1}, DType::int64, std::vector<std::int64_t>{std::int64_t{1} << 47},
             QuantParams::per_tensor(1.0F, 0, 0, 0));
  b.activation("y", {1, 1}, DType::int16, quant(1.0F, 0, DType::int16));
  b.op(OpCode::fully_connected, {0, 1, 2}, 3);
  b.model.inputs = {0};
  b.model.outputs = {3};
  expect_refused(b.model, {"FULLY_CONNECTED", "2^47"});
  b.model.tensors[2].data = to_bytes(std::vector<std::int64_t>{std::int64_t{1} << 40});
  expect_refused(b.model, {"wrap"});
  b.model.tensors[2].data = to_bytes(std::vector<std::int64_t>{5});
  b.model.tensors[3].quantization.scales = {1.0F / 256};
  expect_refused(b.model, {"less than 128", "q15"});
}

TEST(Int16, ModelsOfOtherToolsHaveItsContract) {
  IntegerModel model = int16_mlp(make_mlp(1, {3, 2}, false, true));
  model.metadata.clear();
  EXPECT_EQ(rounding_of(model), Rounding::q15);
  EXPECT_EQ(rounding_of(make_mlp(1, {3, 2}, false, true)), Rounding::fp32);
}

}  // namespace
}  // namespace octet::test::int16_operators_test
