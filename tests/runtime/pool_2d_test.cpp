#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/runtime/window_models.h>
#include <octet_test_paths.h>

#include <fstream>

namespace octet::test::pool_2d_test {
namespace {

using nlohmann::json;

std::vector<std::int8_t> pooled(const Pooling& p, Rounding rounding,
                                const std::vector<std::int8_t>& x) {
  Interpreter interpreter(model_of(p), {.rounding = rounding});
  return run<std::int8_t, std::int8_t>(interpreter, x);
}

std::size_t size_of_image(const Pooling& p) {
  std::size_t size = 1;
  for (const std::int32_t extent : p.image) size *= static_cast<std::size_t>(extent);
  return size;
}

TEST(Pool2D, IsTheOracleForAnyWindow) {
  Draw draw(41);
  for (int round = 0; round < 300; ++round) {
    const Pooling p = draw_pooling(draw);
    const auto x = random_codes(size_of_image(p), draw);
    const Rounding rounding = kContracts[round % 3];
    ASSERT_EQ(pooled(p, rounding, x), naive_codes(p, x, rounding)) << round;
  }
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

TEST(Pool2D, OfFloats) {
  Draw draw(5);
  for (int round = 0; round < 60; ++round) {
    const Pooling p = draw_pooling(draw);
    std::vector<float> x(size_of_image(p));
    for (float& value : x) value = draw.uniform(-4, 8);
    Interpreter interpreter(model_of(p, DType::float32));
    const RealLimits limits = real_limits(p.attributes.activation);
    const auto expected = naive_pool(p, x, [&](const std::vector<float>& inside) {
      float value = *std::ranges::max_element(inside);
      if (p.code == OpCode::average_pool_2d) {
        double sum = 0;
        for (const float v : inside) sum += double{v};
        value = static_cast<float>(sum / static_cast<double>(inside.size()));
      }
      return std::clamp(value, limits.lo, limits.hi);
    });
    ASSERT_EQ((run<float, float>(interpreter, x)), expected) << round;
  }
}

TEST(Pool2D, ThreadsAndBatchesChangeNothing) {
  const KeepThreads keep;
  Pooling p;
  p.image = {1, 40, 40, 24};
  p.attributes = {.padding = Padding::same, .filter_h = 3, .filter_w = 3};
  Draw draw(2);
  const auto x = random_codes(5 * size_of_image(p), draw);
  std::vector<std::int8_t> first;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    Interpreter interpreter(model_of(p), {.batch = 5});
    const auto y = run<std::int8_t, std::int8_t>(interpreter, x);
    if (first.empty()) first = y;
    EXPECT_EQ(y, first);
  }
  Pooling all = p;
  all.image[0] = 5;
  EXPECT_EQ(first, naive_codes(all, x, Rounding::fp32));
}

// ---- Bytes of real runtimes

int compare_with_vectors(OpCode code, const std::string& op) {
  const json root = json::parse(std::ifstream(OCTET_TEST_DATA_DIR "/vectors_conv.json"));
  int compared = 0;
  for_vectors(root, op, [&](const json& v, Rounding rounding, const auto& expected) {
    const json& a = v.at("attributes");
    const json& x = v.at("inputs")[0];
    Pooling p;
    p.code = code;
    p.image = x.at("shape").get<std::vector<std::int32_t>>();
    p.grid = quant(x.at("scale"), x.at("zero_point"));
    p.attributes = {.padding = a.at("padding") == "SAME" ? Padding::same : Padding::valid,
                    .stride_h = a.at("stride")[0],
                    .stride_w = a.at("stride")[1],
                    .filter_h = a.at("filter")[0],
                    .filter_w = a.at("filter")[1],
                    .activation = activation_of(a)};
    EXPECT_EQ(pooled(p, rounding, input_of(v)), expected) << v.at("id");
    ++compared;
  });
  return compared;
}

TEST(Pool2DVectors, AreTheBytesOfRealRuntimes) {
  EXPECT_EQ(compare_with_vectors(OpCode::average_pool_2d, "AVERAGE_POOL_2D"), 2 * 11);
  EXPECT_EQ(compare_with_vectors(OpCode::max_pool_2d, "MAX_POOL_2D"), 2 * 6);
}

// ---- Bad operands

TEST(Pool2D, RefusesOperandsByName) {
  for (const OpCode code : {OpCode::average_pool_2d, OpCode::max_pool_2d}) {
    Pooling p;
    p.code = code;
    p.attributes = {.filter_h = 2, .filter_w = 3};
    const IntegerModel good = model_of(p);
    const auto attributes = [](IntegerModel& m) -> PoolAttributes& {
      return m.operators[0].as<PoolAttributes>();
    };
    const auto refuse = [&](auto&& change, const std::string& part) {
      expect_operator_refuses(good, change, part);
    };
    refuse([&](IntegerModel& m) { attributes(m).stride_w = 0; }, "a stride");
    refuse([&](IntegerModel& m) { attributes(m).filter_h = -1; }, "a kernel size");
    refuse([&](IntegerModel& m) { attributes(m).filter_w = 5; }, "fits into the image");
    refuse([&](IntegerModel& m) { attributes(m).filter_w = 2; }, "expected output shape [1, 3, 3");
    refuse([&](IntegerModel& m) { attributes(m).padding = static_cast<Padding>(7); }, "Padding");
    refuse([&](IntegerModel& m) { attributes(m).activation = static_cast<FusedActivation>(5); },
           "fused activation 5");
    refuse([](IntegerModel& m) { m.tensors[0].shape = {4, 4, 2}; }, "expected images");
    refuse([](IntegerModel& m) { m.tensors[1].dtype = DType::uint8; }, "types (int8) -> uint8");
    refuse([](IntegerModel& m) { m.tensors[1].quantization.scales = {0.06F}; }, "not rescale");
    refuse([](IntegerModel& m) { m.tensors[1].quantization.zero_points = {4}; }, "not rescale");
  }
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
