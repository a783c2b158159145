// Operators on floats, by numbers that can be checked by hand. The others are in
// typed_operator_cases().

#include <gtest/gtest.h>
#include <octet/core/kernels/gemm.h>
#include <octet/runtime/operator_cost.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/tests/runtime/drawn_operators.h>

#include <limits>

namespace octet::test::float_operators_test {
namespace {

using Floats = std::vector<float>;

Floats computed(const IntegerModel& model, const Floats& x) {
  Interpreter interpreter(model);
  return run<float, float>(interpreter, x);
}

TEST(FloatOperators, OfTwoOperandsThatBroadcast) {
  RawModelBuilder b;
  b.model.inputs = {b.activation("x", {1, 2, 2}, DType::float32)};
  const std::int32_t c = b.constant("c", {2}, DType::float32, Floats{0.5F, -2.0F});
  const std::int32_t y = b.activation("y", {1, 2, 2}, DType::float32);
  b.op(OpCode::mul, {c, 0}, y, BinaryAttributes{.activation = FusedActivation::relu6});
  b.model.outputs = {y};
  EXPECT_EQ(computed(b.model, {3, 4, 40, -1}), (Floats{1.5F, 0, 6, 2}));
  b.model.operators[0].code = OpCode::sub;
  EXPECT_EQ(computed(b.model, {3, 4, 40, -1}), (Floats{0, 0, 0, 0}));
  b.model.operators[0].attributes = BinaryAttributes{};
  EXPECT_EQ(computed(b.model, {3, 4, 40, -1}), (Floats{-2.5F, -6, -39.5F, -1}));
  b.model.operators[0] = {.code = OpCode::prelu, .inputs = {0, c}, .outputs = {y}};
  EXPECT_EQ(computed(b.model, {3, -4, -40, -1}), (Floats{3, 8, -20, 2}));
  b.model.operators[0].code = OpCode::maximum;
  EXPECT_EQ(computed(b.model, {3, -4, -40, -1}), (Floats{3, -2, 0.5F, -1}));
  b.model.operators[0].code = OpCode::minimum;
  EXPECT_EQ(computed(b.model, {3, -4, -40, -1}), (Floats{0.5F, -4, -40, -2}));
}

TEST(FloatOperators, OfOneOperand) {
  const auto computed_by = [](OpCode code, const Floats& x) {
    return computed(make_unary(code, {"x", DType::float32, {1, 5}, {}, {}, {}},
                               {"y", DType::float32, {1, 5}, {}, {}, {}}),
                    x);
  };
  EXPECT_EQ(computed_by(OpCode::hard_swish, {-4, -3, -1.5F, 0, 4}), (Floats{0, 0, -0.375F, 0, 4}));
  EXPECT_EQ(computed_by(OpCode::rsqrt, {0.25F, 1, 4, 16, 100}), (Floats{2, 1, 0.5F, 0.25F, 0.1F}));
  EXPECT_EQ(computed_by(OpCode::sqrt, {0, 0.25F, 1, 4, 100}), (Floats{0, 0.5F, 1, 2, 10}));
  const Floats logs = computed_by(OpCode::log, {0.5F, 1, 4, 0, -1});
  EXPECT_NEAR(logs[0], -0.6931472F, 1e-6F);
  EXPECT_EQ(logs[1], 0.0F);
  EXPECT_NEAR(logs[2], 1.3862944F, 1e-6F);
  EXPECT_EQ(logs[3], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(logs[4], -std::numeric_limits<float>::infinity());
  const auto expect_near = [&](OpCode code, const Floats& expected) {
    const Floats found = computed_by(code, {-20, -1, 0, 0.5F, 3});
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(found[i], expected[i], 1e-6F);
  };
  expect_near(OpCode::elu, {-1, -0.6321206F, 0, 0.5F, 3});
  expect_near(OpCode::exp, {2.06e-9F, 0.3678794F, 1, 1.6487213F, 20.0855369F});
  expect_near(OpCode::gelu, {0, -0.1586553F, 0, 0.3457312F, 2.9959503F});
}

TEST(FloatOperators, PadsAreZeroOrTheirValue) {
  const auto padded = [](std::optional<float> border) {
    return computed(
        pad_model({1, 2}, {{0, 0}, {1, 2}}, QuantParams{{}, {}, 0, 0, 0}, DType::float32, border),
        {3, -4});
  };
  EXPECT_EQ(padded({}), (Floats{0, 3, -4, 0, 0}));
  EXPECT_EQ(padded(0.3F), (Floats{0.3F, 3, -4, 0.3F, 0.3F}));
}

TEST(FloatOperators, BatchMatmul) {
  Matmul m{.first = {2, 1, 2}, .second = {1, 2, 2}};
  m.dtype = DType::float32;
  m.attributes = {.adj_x = false, .adj_y = true};
  Interpreter interpreter(matmul_model(m));
  std::ranges::copy(Floats{1, 2, 3, 4}, interpreter.input<float>(0).begin());
  std::ranges::copy(Floats{5, 6, 7, 8}, interpreter.input<float>(1).begin());
  interpreter.invoke();
  EXPECT_EQ(copy(std::as_const(interpreter).output<float>()), (Floats{17, 23, 39, 53}));
  EXPECT_EQ(operator_cost(matmul_model(m), 0).multiply_adds, 2 * 1 * 2 * 2);
}

TEST(FloatOperators, CountWhatTheirProductsKeep) {
  constexpr std::int32_t kDepth = 240;
  const Matmul row{.first = {1, kDepth}, .second = {kDepth, 1}};
  Matmul floats = row;
  floats.dtype = DType::float32;
  Conv pixel;
  pixel.image = {1, 1, 1, kDepth};
  pixel.filter = pixel.image;
  pixel.weights.resize(kDepth);
  Conv line = pixel;
  line.image = {1, 1, 2, kDepth / 2};
  line.filter = line.image;
  RawModelBuilder dense;
  dense.model.inputs = {dense.activation("x", {1, kDepth}, DType::float32)};
  const std::int32_t w = dense.constant("w", {1, kDepth}, DType::float32, Floats(kDepth));
  dense.model.outputs = {dense.activation("y", {1, 1}, DType::float32)};
  dense.op(OpCode::fully_connected, {0, w}, dense.model.outputs[0], FullyConnectedAttributes{});
  // The numbers of 4 bytes that each keeps beside.
  const std::vector<std::pair<IntegerModel, std::size_t>> models = {
      {matmul_model(row), 2 * kDepth + 2},
      {matmul_model(floats), 0},
      {dense.model, 0},
      {in_floats(model_of(line)), kDepth},
      {in_floats(transposed_model({.conv = pixel, .output = {1, 1}})), 1}};
  for (const auto& [model, beside] : models) {
    const auto kernel = detail::make_kernel({model, model.operators[0], Rounding::fp32});
    EXPECT_GE(kernel->thread_bytes(1), 4 * beside + gemm_f32_thread_bytes(1, 1, kDepth))
        << to_string(model.operators[0].code);
  }
}

}  // namespace
}  // namespace octet::test::float_operators_test
