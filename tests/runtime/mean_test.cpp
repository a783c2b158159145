#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/mean.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/runtime/mean_models.h>
#include <octet/tests/runtime/window_models.h>
#include <octet_test_paths.h>

#include <fstream>

namespace octet::test::mean_test {
namespace {

using detail::QuantizedMean;

using nlohmann::json;

std::vector<std::int8_t> computed(const Mean& m, Rounding rounding,
                                  const std::vector<std::int8_t>& x, Index batch = 1) {
  Interpreter interpreter(model_of(m), {.rounding = rounding, .batch = batch});
  return run<std::int8_t, std::int8_t>(interpreter, x);
}

std::size_t size_of_images(const Mean& m) {
  return static_cast<std::size_t>(m.image[0] * m.pixels() * m.image[3]);
}

TEST(Mean, IsTheOracleForAnyImage) {
  Draw draw(43);
  for (int round = 0; round < 400; ++round) {
    const Mean m = draw_mean(draw);
    const auto x = random_codes(size_of_images(m), draw);
    const Rounding rounding = kContracts[round % 3];
    ASSERT_EQ(computed(m, rounding, x), naive_means(m, x, rounding)) << round;
  }
}

TEST(Mean, OfFloats) {
  Draw draw(6);
  for (int round = 0; round < 60; ++round) {
    const Mean m = draw_mean(draw);
    std::vector<float> x(size_of_images(m));
    for (float& value : x) value = draw.uniform(-4, 8);
    Interpreter interpreter(model_of(m, DType::float32));
    std::vector<float> expected;
    for (const double sum : naive_channel_sums<double>(m, x)) {
      expected.push_back(static_cast<float>(sum / m.pixels()));
    }
    ASSERT_EQ((run<float, float>(interpreter, x)), expected) << round;
  }
}

TEST(Mean, ThreadsAndBatchesChangeNothing) {
  const KeepThreads keep;
  Mean m;
  m.image = {1, 30, 40, 24};
  Draw draw(2);
  const auto x = random_codes(5 * size_of_images(m), draw);
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    EXPECT_EQ(computed(m, Rounding::fp32, x, 5), naive_means(m, x, Rounding::fp32));
  }
}

/// One image, three contracts: LiteRT's own kernels tell axes that stay from axes that go.
TEST(Mean, ContractsDiffer) {
  Mean m;
  m.image = {1, 2, 3, 1};
  m.in = quant(0.05F, -128);
  m.out = quant(0.05F, -128);
  const auto differing = [&](Rounding a, bool keep_a, Rounding b, bool keep_b) {
    const auto means = [&](Rounding rounding, bool keep, std::int32_t sum) {
      m.keep_dims = keep;
      return QuantizedMean::make(m.in, m.out, m.pixels(), keep, rounding).apply(sum);
    };
    int count = 0;
    for (std::int32_t sum = -128 * 6; sum <= 127 * 6; ++sum) {
      count += means(a, keep_a, sum) == means(b, keep_b, sum) ? 0 : 1;
    }
    return count;
  };
  constexpr Rounding kSingle = Rounding::single_rounding;
  constexpr Rounding kDouble = Rounding::double_rounding;
  EXPECT_EQ(differing(kSingle, false, kDouble, false), 0);
  EXPECT_EQ(differing(kDouble, true, kDouble, false), 0);
  EXPECT_EQ(differing(Rounding::fp32, true, Rounding::fp32, false), 0);
  EXPECT_GT(differing(kSingle, true, kDouble, true), 0);
  EXPECT_GT(differing(Rounding::fp32, false, kDouble, false), 0);
}

TEST(QuantizedMean, GrowsWithTheSumAndTakesTheLargest) {
  Draw draw(8);
  for (int round = 0; round < 90; ++round) {
    const Mean m = draw_mean(draw);
    const std::int32_t n = round % 9 == 0 ? QuantizedMean::kMostValues : draw.between(1, 400);
    const Rounding rounding = kContracts[round % 3];
    const QuantizedMean mean = QuantizedMean::make(m.in, m.out, n, m.keep_dims, rounding);
    const std::int64_t steps = std::min(255 * std::int64_t{n}, std::int64_t{20000});
    std::int32_t last = -128;
    for (std::int64_t i = 0; i <= steps; ++i) {
      const auto sum = static_cast<std::int32_t>(i * 255 * n / steps - 128 * std::int64_t{n});
      const std::int32_t code = mean.apply(sum);
      ASSERT_GE(code, last) << round << " " << sum;
      ASSERT_EQ(code, naive_mean(sum, n, m, rounding)) << round << " " << sum;
      last = code;
    }
  }
}

TEST(QuantizedMean, RefusesGridsAndCountsThatMeanDoesNotHave) {
  const QuantParams sound = quant(0.1F, 3);
  const auto make = [&](const QuantParams& in, const QuantParams& out, std::int32_t count) {
    return QuantizedMean::make(in, out, count, false, Rounding::fp32);
  };
  EXPECT_NO_THROW(make(sound, sound, 1));
  EXPECT_THROW(make(sound, sound, 0), InvalidArgument);
  EXPECT_THROW(make(sound, sound, QuantizedMean::kMostValues + 1), InvalidArgument);
  EXPECT_THROW(make(quant(0.0F, 0), sound, 1), InvalidArgument);
  EXPECT_THROW(make(sound, quant(0.1F, 128), 1), InvalidArgument);
  EXPECT_THROW(make(quant(1e30F, 0), quant(1e-30F, 0), 1), NumericError);
}

TEST(MeanVectors, AreTheBytesOfRealRuntimes) {
  const json root = json::parse(std::ifstream(OCTET_TEST_DATA_DIR "/vectors_conv.json"));
  int compared = 0;
  for_vectors(root, "MEAN", [&](const json& v, Rounding rounding, const auto& expected) {
    const json& x = v.at("inputs")[0];
    const json& y = v.at("output");
    Mean m;
    m.image = x.at("shape").get<std::vector<std::int32_t>>();
    m.axes = v.at("attributes").at("axes").get<std::vector<std::int32_t>>();
    m.keep_dims = v.at("attributes").at("keep_dims");
    m.in = quant(x.at("scale"), x.at("zero_point"));
    m.out = quant(y.at("scale"), y.at("zero_point"));
    EXPECT_EQ(computed(m, rounding, input_of(v)), expected)
        << v.at("id") << " " << to_string(rounding);
    ++compared;
  });
  EXPECT_EQ(compared, 2 * 18);
}

TEST(Mean, RefusesOperandsByName) {
  const IntegerModel good = model_of(Mean{});
  const auto refuse = [&](auto&& change, const std::string& part) {
    expect_operator_refuses(good, change, part);
  };
  const auto axis = [](std::size_t i, std::int32_t value) {
    return [i, value](IntegerModel& m) {
      std::memcpy(m.tensors[1].data.data() + 4 * i, &value, sizeof value);
    };
  };
  refuse(axis(0, 2), "expected the axes of the pixels, [1, 2], found [2, 2]");
  refuse(axis(1, 3), "found [1, 3]; means over others are not supported");
  refuse(axis(0, 0), "found [0, 2]");
  refuse(axis(1, -4), "found [1, -4]");
  refuse(axis(1, 2147483647), "found [1, 2147483647]");
  refuse([](IntegerModel& m) { m.tensors[1].dtype = DType::float32; },
         "expected its axes as an int32 constant, found 'axes' of float32");
  refuse([](IntegerModel& m) { m.operators[0].as<MeanAttributes>().keep_dims = true; },
         "expected output shape [1, 1, 1, 2], found [1, 2]");
  refuse(
      [](IntegerModel& m) {
        m.tensors[0].shape = {1, 16, 2};
        m.tensors[0].shape_signature.clear();
      },
      "expected images");
  refuse(
      [](IntegerModel& m) {
        m.tensors[2].dtype = DType::uint8;
        m.tensors[2].quantization = quant(0.04F, 7, DType::uint8);
      },
      "types (int8, int32) -> uint8");
  refuse(
      [](IntegerModel& m) {
        m.tensors[2].quantization.scales = {1.0F, 2.0F};
        m.tensors[2].quantization.zero_points = {0, 0};
        m.tensors[2].quantization.quantized_dimension = 1;
      },
      "expected one scale for its output 'y', found 2");
  Mean large;
  large.image = {1, 4096, 2048, 1};
  EXPECT_THROW(model_of(large).validate(), FormatError);
  EXPECT_NO_THROW(model_of(large, DType::float32).validate());
  large.image[2] = 2047;
  EXPECT_NO_THROW(model_of(large).validate());
}

}  // namespace
}  // namespace octet::test::mean_test
