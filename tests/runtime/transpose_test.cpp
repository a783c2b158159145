#include <gtest/gtest.h>
#include <octet/tests/runtime/moving_models.h>
#include <octet/tests/runtime/window_models.h>

#include <numeric>

namespace octet::test::transpose_test {
namespace {

/// Two samples, one behind the other.
template <class T>
void expect_naive(const Transposition& t) {
  const IntegerModel model = transpose_model(t);
  std::vector<T> x(2 * static_cast<std::size_t>(model.tensors[0].size()));
  std::iota(x.begin(), x.end(), T{-100});
  Interpreter interpreter(model, {.batch = 2});
  const auto middle = x.begin() + std::ssize(x) / 2;
  std::vector<T> expected = naive_transpose(t, std::vector<T>(x.begin(), middle));
  const std::vector<T> second = naive_transpose(t, std::vector<T>(middle, x.end()));
  expected.insert(expected.end(), second.begin(), second.end());
  ASSERT_EQ((run<T, T>(interpreter, x)), expected);
}

TEST(Transpose, IsTheOracleForAnyRankAndType) {
  Draw draw(19);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    Transposition t = draw_transposition(draw);
    expect_naive<std::int8_t>(t);
    t.dtype = DType::int16;
    t.params = quant(0.01F, 0, DType::int16);
    expect_naive<std::int16_t>(t);
    t.dtype = DType::float32;
    t.params = {{}, {}, 0, 0, 0};
    expect_naive<float>(t);
  }
}

TEST(Transpose, RefusesOperandsByName) {
  const IntegerModel good = transpose_model({});
  const auto refuse = [&](auto&& change, const std::string& part) {
    expect_operator_refuses(good, change, part);
  };
  const auto axis = [](std::size_t i, std::int32_t value) {
    return [=](IntegerModel& m) {
      std::memcpy(m.tensors[1].data.data() + 4 * i, &value, sizeof value);
    };
  };
  refuse(axis(1, 1), "expected each of the 3 axes once as its permutation, found [0, 1, 1]");
  refuse(axis(1, 3), "found [0, 3, 1]");
  refuse(axis(1, -4), "found [0, -4, 1]");
  refuse([](IntegerModel& m) { m.operators[0].inputs[1] = 0; },
         "expected the permutation as an int32 constant [3], found 'x' of int8, shape [2, 3, 4]");
  refuse(
      [](IntegerModel& m) {
        m.tensors[1].shape = {2};
        m.tensors[1].data.resize(8);
      },
      "of int32, shape [2]");
  refuse(
      [](IntegerModel& m) {
        m.tensors[2].shape = {2, 3, 4};
      },
      "expected output shape [2, 4, 3], found [2, 3, 4]");
  refuse(
      [](IntegerModel& m) {
        m.tensors[0].shape_signature = {2, -1, 4};
      },
      "axis 1 is the batch, which cannot become axis 2");
  refuse([](IntegerModel& m) { m.tensors[2].quantization.zero_points = {4}; },
         "the same single scale");
}

}  // namespace
}  // namespace octet::test::transpose_test
