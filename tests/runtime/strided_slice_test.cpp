#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/tests/runtime/moving_models.h>
#include <octet/tests/runtime/window_models.h>

#include <numeric>

namespace octet::test::strided_slice_test {
namespace {

/// Two samples, one behind the other.
template <class T>
void expect_naive(const Slicing& s) {
  const IntegerModel model = slice_model(s);
  std::vector<T> x(2 * static_cast<std::size_t>(model.tensors[0].size()));
  std::iota(x.begin(), x.end(), T{-100});
  Interpreter interpreter(model, {.batch = 2});
  const auto middle = x.begin() + std::ssize(x) / 2;
  std::vector<T> expected = naive_slice(s, std::vector<T>(x.begin(), middle));
  const std::vector<T> second = naive_slice(s, std::vector<T>(middle, x.end()));
  expected.insert(expected.end(), second.begin(), second.end());
  ASSERT_EQ((run<T, T>(interpreter, x)), expected);
}

TEST(StridedSlice, IsTheOracleForAnyRankAndType) {
  Draw draw(17);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    Slicing s = draw_slicing(draw);
    expect_naive<std::int8_t>(s);
    s.dtype = DType::int16;
    s.params = quant(0.01F, 0, DType::int16);
    expect_naive<std::int16_t>(s);
    s.dtype = DType::float32;
    s.params = {{}, {}, 0, 0, 0};
    expect_naive<float>(s);
  }
}

TEST(StridedSlice, OfABatchOfAnySizeTakesAllOfIt) {
  Slicing s{.shape = {1, 3, 4}};
  s.attributes = {.begin_mask = 1, .end_mask = 1};
  IntegerModel model = slice_model(s);
  model.tensors[0].shape_signature = {-1, 3, 4};
  model.tensors[4].shape_signature = {-1, 2, 2};
  std::vector<std::int8_t> x(24);
  std::iota(x.begin(), x.end(), std::int8_t{0});
  Interpreter interpreter(model, {.batch = 2});
  EXPECT_EQ((run<std::int8_t, std::int8_t>(interpreter, x)),
            (std::vector<std::int8_t>{4, 6, 8, 10, 16, 18, 20, 22}));
  expect_operator_refuses(
      model,
      [](IntegerModel& m) { m.operators[0].attributes = StridedSliceAttributes{.begin_mask = 1}; },
      "axis 0 is the batch");
}

TEST(StridedSlice, RefusesOperandsByName) {
  const IntegerModel good = slice_model({});
  const auto refuse = [&](auto&& change, const std::string& part) {
    expect_operator_refuses(good, change, part);
  };
  const auto number = [](std::size_t tensor, std::size_t i, std::int32_t value) {
    return [=](IntegerModel& m) {
      std::memcpy(m.tensors[tensor].data.data() + 4 * i, &value, sizeof value);
    };
  };
  refuse(number(3, 2, -1), "expected strides of 1 or more, found -1");
  refuse(number(3, 2, 0), "found 0");
  refuse(number(1, 1, 3), "axis 1 of extent 3: no element lies in [3, 3)");
  refuse(number(2, 1, 1), "no element lies in [1, 1)");
  refuse(number(2, 1, 2), "expected output shape [2, 1, 2], found [2, 2, 2]");
  refuse(
      [&](IntegerModel& m) {
        number(1, 0, 2)(m);
        m.operators[0].attributes = StridedSliceAttributes{.shrink_axis_mask = 1};
      },
      "axis 0 of extent 2");
  refuse([](IntegerModel& m) { m.operators[0].inputs[1] = 0; },
         "expected begin as an int32 constant of one number for each of at most 3 axes, as many as "
         "begin has, found 'x' of int8, shape [2, 3, 4]");
  refuse([](IntegerModel& m) { m.tensors[2].dtype = DType::float32; }, "expected end");
  refuse(
      [](IntegerModel& m) {
        m.tensors[3].shape = {2};
        m.tensors[3].data.resize(8);
      },
      "expected strides");
  refuse([](IntegerModel& m) { m.tensors[4].quantization.zero_points = {4}; },
         "the same single scale");
  refuse([](IntegerModel& m) { m.tensors[4].dtype = DType::uint8; }, "are not supported");
  Slicing of_six{.shape = {1, 1, 1, 1, 1, 1}, .begin = {0}, .end = {1}, .strides = {1}};
  EXPECT_THROW(slice_model(of_six).validate(), FormatError);
}

}  // namespace
}  // namespace octet::test::strided_slice_test
