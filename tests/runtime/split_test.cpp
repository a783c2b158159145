#include <gtest/gtest.h>
#include <octet/runtime/execute.h>
#include <octet/tests/runtime/moving_models.h>
#include <octet/tests/runtime/window_models.h>

#include <numeric>

namespace octet::test::split_test {
namespace {

/// Two samples, one behind the other, in the interpreter and by PreparedOperators.
template <class T>
void expect_naive(const Splitting& s) {
  const IntegerModel model = split_model(s);
  std::vector<T> x(2 * static_cast<std::size_t>(model.tensors[0].size()));
  std::iota(x.begin(), x.end(), T{-100});
  const auto middle = x.begin() + std::ssize(x) / 2;
  Interpreter interpreter(model, {.batch = 2});
  std::ranges::copy(x, interpreter.input<T>().begin());
  interpreter.invoke();
  std::vector<std::vector<T>> prepared(model.outputs.size());
  std::vector<std::byte*> to;
  for (std::vector<T>& part : prepared) {
    part.resize(x.size() / prepared.size());
    to.push_back(reinterpret_cast<std::byte*>(part.data()));
  }
  const auto* from = reinterpret_cast<const std::byte*>(x.data());
  PreparedOperators(model, interpreter.rounding()).run(2, {&from, 1}, to);
  for (std::int32_t i = 0; i < s.parts; ++i) {
    std::vector<T> expected = naive_part(s, i, std::vector<T>(x.begin(), middle));
    const std::vector<T> second = naive_part(s, i, std::vector<T>(middle, x.end()));
    expected.insert(expected.end(), second.begin(), second.end());
    const auto part = static_cast<std::size_t>(i);
    ASSERT_EQ(copy(std::as_const(interpreter).template output<T>(part)), expected);
    ASSERT_EQ(prepared[part], expected);
  }
}

TEST(Split, IsTheOracleForAnyRankAndType) {
  Draw draw(37);
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE(round);
    Splitting s = draw_splitting(draw);
    expect_naive<std::int8_t>(s);
    s.dtype = DType::int16;
    s.params = quant(0.01F, 0, DType::int16);
    expect_naive<std::int16_t>(s);
    s.dtype = DType::float32;
    s.params = {{}, {}, 0, 0, 0};
    expect_naive<float>(s);
  }
}

/// Blocks of a large batch and several threads: each lane has parts of its own.
TEST(Split, PartsOfALargeBatchAreJoinedAgain) {
  const Splitting s{.shape = {1, 6, 50}, .axis = 1, .parts = 3};
  const IntegerModel model = split_and_join_model(s);
  Draw draw(5);
  const auto x = random_codes(1000 * 300, draw);
  Interpreter interpreter(model, {.batch = 1000});
  const auto y = run<std::int8_t, std::int8_t>(interpreter, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t of_sample = i % 300;
    const std::size_t from = i - of_sample + (2 - of_sample / 100) * 100 + of_sample % 100;
    ASSERT_EQ(y[i], x[from]) << i;
  }
}

TEST(Split, RefusesOperandsByName) {
  const IntegerModel good = split_model({});
  const auto refuse = [&](auto&& change, const std::string& part) {
    expect_operator_refuses(good, change, part);
  };
  const auto axis = [](std::int32_t value) {
    return [=](IntegerModel& m) { std::memcpy(m.tensors[1].data.data(), &value, sizeof value); };
  };
  refuse(axis(3), "axis 3 outside of rank 3");
  refuse(axis(-4), "axis -4 outside of rank 3");
  refuse(axis(0), "axis 0 of extent 2 has no 3 equal parts");
  refuse([](IntegerModel& m) { m.operators[0].inputs[1] = 0; },
         "expected the axis as an int32 constant, found 'x' of int8, shape [2, 6, 2]");
  refuse([](IntegerModel& m) { m.operators[0].outputs.pop_back(); },
         "expected as many outputs as num_splits, 3, found 2");
  refuse([](IntegerModel& m) { m.operators[0].outputs.clear(); },
         "expected 2 to 2 inputs and 1 to 16 outputs, found 2 and 0");
  refuse(
      [](IntegerModel& m) {
        m.tensors[4].shape = {2, 1, 2};
      },
      "expected output shape [2, 2, 2], found [2, 1, 2]");
  refuse([](IntegerModel& m) { m.tensors[4].quantization.zero_points = {4}; },
         "the same single scale");
  refuse(
      [](IntegerModel& m) {
        m.tensors[0].shape_signature = {2, -1, 2};
      },
      "axis 1 is the batch, which cannot be split");
}

}  // namespace
}  // namespace octet::test::split_test
