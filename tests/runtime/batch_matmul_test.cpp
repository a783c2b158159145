#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/runtime/operator_cost.h>
#include <octet/tests/runtime/matmul_models.h>
#include <octet/tests/runtime/window_models.h>

#include <limits>

namespace octet::test::batch_matmul_test {
namespace {

/// Random values of both operands, and the result.
template <class T>
struct Run {
  std::vector<T> x;
  std::vector<T> y;
  std::vector<T> z;
};

template <class T>
Run<T> computed(const Matmul& m, Rounding rounding, Draw& draw) {
  const IntegerModel model = matmul_model(m);
  Interpreter interpreter(model, {.rounding = rounding});
  Run<T> run;
  const auto fill = [&](std::size_t input, std::vector<T>& values) {
    for (T& value : interpreter.input<T>(input)) {
      value = static_cast<T>(
          draw.between(int{std::numeric_limits<T>::min()}, int{std::numeric_limits<T>::max()}));
      values.push_back(value);
    }
  };
  fill(0, run.x);
  fill(1, run.y);
  interpreter.invoke();
  run.z = copy(std::as_const(interpreter).template output<T>());
  return run;
}

TEST(BatchMatmul, IsTheOracleUnderEveryContract) {
  Draw draw(23);
  for (int round = 0; round < 150; ++round) {
    const Matmul m = draw_matmul(draw);
    for (const Rounding rounding : kContracts) {
      const auto run = computed<std::int8_t>(m, rounding, draw);
      ASSERT_EQ(run.z, naive_matmul(m, run.x, run.y, rounding))
          << round << " " << to_string(rounding);
    }
  }
}

TEST(BatchMatmul, OfInt16IsTheOracle) {
  Draw draw(29);
  for (int round = 0; round < 150; ++round) {
    Matmul m = draw_matmul(draw);
    m.dtype = DType::int16;
    const float scale = draw.uniform(1e-5F, 1e-3F);
    m.params = {quant(scale, 0, DType::int16), quant(scale, 0, DType::int16),
                quant(scale * scale * 20000.0F, 0, DType::int16)};
    const auto run = computed<std::int16_t>(m, Rounding::q15, draw);
    ASSERT_EQ(run.z, naive_matmul_int16(m, run.x, run.y)) << round;
  }
}

TEST(BatchMatmul, EverySampleHasItsOwnMatrices) {
  Draw draw(31);
  for (int round = 0; round < 30; ++round) {
    Matmul m = draw_matmul(draw);
    m.constant = random_codes(static_cast<std::size_t>(matmul_model(m).tensors[1].size()), draw);
    const IntegerModel model = matmul_model(m);
    const auto x = random_codes(2 * static_cast<std::size_t>(model.tensors[0].size()), draw);
    Interpreter interpreter(model, {.batch = 2});
    const auto middle = x.begin() + std::ssize(x) / 2;
    auto expected = naive_matmul(m, {x.begin(), middle}, m.constant, Rounding::fp32);
    const auto second = naive_matmul(m, {middle, x.end()}, m.constant, Rounding::fp32);
    expected.insert(expected.end(), second.begin(), second.end());
    ASSERT_EQ((run<std::int8_t, std::int8_t>(interpreter, x)), expected) << round;
  }
}

TEST(BatchMatmul, OfFloats) {
  Matmul m{.first = {2, 1, 2}, .second = {1, 2, 2}};
  m.dtype = DType::float32;
  m.attributes = {.adj_x = false, .adj_y = true};
  Interpreter interpreter(matmul_model(m));
  std::ranges::copy(std::vector<float>{1, 2, 3, 4}, interpreter.input<float>(0).begin());
  std::ranges::copy(std::vector<float>{5, 6, 7, 8}, interpreter.input<float>(1).begin());
  interpreter.invoke();
  EXPECT_EQ(copy(std::as_const(interpreter).output<float>()), (std::vector<float>{17, 23, 39, 53}));
  EXPECT_EQ(operator_cost(matmul_model(m), 0).multiply_adds, 2 * 1 * 2 * 2);
}

TEST(BatchMatmul, RefusesOperandsByName) {
  const IntegerModel good = matmul_model({});
  const auto refuse = [&](auto&& change, const std::string& part) {
    expect_operator_refuses(good, change, part);
  };
  refuse([](IntegerModel& m) { m.operators[0].attributes = BatchMatmulAttributes{.adj_y = true}; },
         "rows of 5 do not fit columns of 4: did you mean another adj_x or adj_y?");
  refuse(
      [](IntegerModel& m) {
        m.tensors[1].shape = {3, 5, 4};
      },
      "shapes [2, 3, 5] and [3, 5, 4] do not broadcast in front of their matrices");
  refuse([](IntegerModel& m) { m.tensors[1].shape = {5}; },
         "expected operands of 2 to 5 axes, found 1 as operand 1");
  refuse(
      [](IntegerModel& m) {
        m.tensors[2].shape = {2, 4, 3};
      },
      "expected output shape [2, 3, 4], found [2, 4, 3]");
  refuse([](IntegerModel& m) { m.tensors[1].dtype = DType::uint8; },
         "types (int8, uint8) -> int8 are not supported");
  refuse(
      [](IntegerModel& m) {
        m.tensors[0].shape_signature = {2, -1, 5};
      },
      "axis 1 of operand 0 is the batch");
  refuse(
      [](IntegerModel& m) {
        m.tensors[0].shape = {2, 3, 40000};
        m.tensors[1].shape = {2, 40000, 4};
      },
      "sums of 40000 products could leave int32");
  refuse(
      [](IntegerModel& m) {
        for (ModelTensor& tensor : m.tensors) tensor.dtype = DType::int16;
      },
      "expected the zero point 0 of int16 for 'x', found 4");
  Matmul of_int16;
  of_int16.dtype = DType::int16;
  of_int16.params.fill(quant(0.01F, 0, DType::int16));
  EXPECT_THROW(Interpreter(matmul_model(of_int16), {.rounding = Rounding::fp32}), FormatError);
}

}  // namespace
}  // namespace octet::test::batch_matmul_test
