// CAST, GATHER and ARG_MAX.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/runtime/lookup_models.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace octet::test::lookup_test {
namespace {

template <class From, class To>
std::vector<To> run(IntegerModel model, const std::vector<From>& values, Index samples = 1) {
  Interpreter interpreter(std::move(model), {.batch = samples});
  std::ranges::copy(values, interpreter.input<From>().begin());
  interpreter.invoke();
  const auto y = std::as_const(interpreter).template output<To>();
  return {y.begin(), y.end()};
}

TEST(Cast, IsTowards0AndSaturates) {
  const IntegerModel to_int = cast_model(DType::float32, DType::int32);
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  constexpr auto kLeast = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ((run<float, std::int32_t>(to_int, {1.9F, -1.9F, 0.5F, 3e9F, -3e9F, NAN}, 2)),
            (std::vector{1, -1, 0, kMost, kLeast, 0}));
  EXPECT_EQ((run<std::int32_t, float>(cast_model(DType::int32, DType::float32), {3, -7, 1 << 24})),
            (std::vector{3.0F, -7.0F, 16777216.0F}));
}

TEST(Gather, TakesRowsOfATable) {
  const std::vector<std::int32_t> indices{4, 0, 4, 1, 2, 3};
  EXPECT_EQ((run<std::int32_t, float>(gather_model(), indices, 2)),
            (std::vector<float>{8, 9, 0, 1, 8, 9, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ((run<std::int32_t, std::int8_t>(gather_model(DType::int8, quant(0.1F, 3)), {4, 0, 1})),
            (std::vector<std::int8_t>{8, 9, 0, 1, 2, 3}));
}

TEST(Gather, NamesAnIndexOutside) {
  for (const std::int32_t index : {5, -1}) {
    expect_throws<InvalidArgument>(
        [&] {
          run<std::int32_t, float>(gather_model(), {0, 1, 2, 3, index, 4}, 2);
        },
        {"GATHER 'y': expected indices from 0 to 4, found " + std::to_string(index) +
         " as number 1 of sample 1"});
  }
}

TEST(Gather, TakesFloatsThatAreIntegers) {
  Interpreter interpreter(gather_model());
  EXPECT_EQ(interpreter.run(std::vector<float>{1, 0, 2}), (std::vector<float>{2, 3, 0, 1, 4, 5}));
  expect_throws<InvalidArgument>(
      [&] {
        interpreter.run(std::vector<float>{1, 0.5F, 2});
      },
      {"input 'indices' of int32", "found 0.5"});
}

TEST(ArgMax, OfFloatsTakesTheFirstAndNoNaNButTheFirst) {
  const IntegerModel model = arg_max_model({{4}, 0, {{}, {}, 0, 0, 0}, DType::float32});
  const std::vector<std::pair<std::vector<float>, std::int32_t>> rows = {
      {{1, 5, -2, 5}, 1}, {{-0.0F, 0.0F, -1, -2}, 0}, {{1, NAN, 3, NAN}, 2}, {{NAN, 9, 1, 1}, 0}};
  for (const auto& [x, place] : rows) {
    EXPECT_EQ((run<float, std::int32_t>(model, x)), std::vector{place});
  }
}

/// The class is what the model puts out, be it 0, 1 or another.
TEST(ArgMax, IsTheClassThatIsPredicted) {
  Interpreter interpreter(batched_arg_max_model({{3}, 0, quant(1.0F, 0)}), {.batch = 2});
  EXPECT_EQ(interpreter.get_output_details()[0].shape, (Extents{2}));
  EXPECT_EQ(decision_threshold(interpreter.model()), std::nullopt);
  const std::vector<float> x{1, 7, 7, -9, -8, -3, 4, 2, 0};
  EXPECT_EQ(interpreter.predict(x), (std::vector{1, 2, 0}));
  EXPECT_EQ(interpreter.run(x), (std::vector<float>{1, 2, 0}));
  EXPECT_EQ(interpreter.predict_bytes(std::vector<std::uint8_t>{0, 0, 255}), std::vector{2});
  Interpreter several(arg_max_model({{1, 2, 3}, 1, quant(1.0F, 0)}));
  expect_throws<InvalidArgument>([&] { several.predict(std::vector<float>(6)); },
                                 {"expected one class of each sample, found 3 in output 'y'"});
}

}  // namespace
}  // namespace octet::test::lookup_test
