#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/tests/runtime/window_models.h>

namespace octet::test::pool_2d_test {
namespace {

std::vector<std::int8_t> pooled(const Pooling& p, Rounding rounding,
                                const std::vector<std::int8_t>& x) {
  Interpreter interpreter(model_of(p), {.rounding = rounding});
  return run<std::int8_t, std::int8_t>(interpreter, x);
}

TEST(Pool2D, TiesOfCodesGoAwayFromZero) {
  Pooling p;
  p.image = {1, 1, 2, 4};
  p.attributes = {.filter_w = 2};
  p.grid = quant(0.5F, 0);
  const std::vector<std::int8_t> x{1, -1, 2, -128, 2, -2, 2, -127};
  EXPECT_EQ(pooled(p, Rounding::fp32, x), (std::vector<std::int8_t>{2, -2, 2, -128}));
}

/// 6 / scale = 100.5 codes: XNNPACK, which takes the maximum alone, rounds the limit to even.
TEST(Pool2D, TheLimitOfRelu6IsThatOfWhoComputesIt) {
  Pooling p;
  p.image = {1, 1, 1, 1};
  p.grid = quant(6.0F / 100.5F, -60);
  p.attributes.activation = FusedActivation::relu6;
  const auto limit = [&](OpCode code, std::int32_t stride, Rounding rounding,
                         std::int32_t stride_w = 1) {
    p.code = code;
    p.attributes.stride_h = stride;
    p.attributes.stride_w = stride_w;
    return int{pooled(p, rounding, {127})[0]};
  };
  EXPECT_EQ(limit(OpCode::max_pool_2d, 1, Rounding::fp32), 40);
  EXPECT_EQ(limit(OpCode::max_pool_2d, 2, Rounding::fp32), 41);
  EXPECT_EQ(limit(OpCode::max_pool_2d, 1, Rounding::fp32, 2), 41);
  EXPECT_EQ(limit(OpCode::max_pool_2d, 1, Rounding::double_rounding), 41);
  EXPECT_EQ(limit(OpCode::average_pool_2d, 1, Rounding::fp32), 41);
}

TEST(Pool2D, OnlyAMeanTakesScalesThatDifferByNextToNothing) {
  Pooling p;
  const auto with_next_scale = [&](OpCode code) {
    p.code = code;
    IntegerModel model = model_of(p);
    model.tensors[1].quantization.scales = {std::nextafter(p.grid.scale(), 1.0F)};
    return model;
  };
  EXPECT_NO_THROW(with_next_scale(OpCode::average_pool_2d).validate());
  EXPECT_THROW(with_next_scale(OpCode::max_pool_2d).validate(), FormatError);
}

TEST(Pool2D, RefusesAMeanOfMorePixelsThanInt32Sums) {
  Pooling p;
  p.image = {1, 4096, 4097, 1};
  p.attributes = {.filter_h = 4096, .filter_w = 4097};
  EXPECT_THROW(model_of(p).validate(), FormatError);
  EXPECT_NO_THROW(model_of(p, DType::float32).validate());
  p.code = OpCode::max_pool_2d;
  EXPECT_NO_THROW(model_of(p).validate());
}

}  // namespace
}  // namespace octet::test::pool_2d_test
