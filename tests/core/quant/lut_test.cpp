#include <octet/core/quant/lut.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <octet/core/error.h>
#include <octet/core/quant/fixed_point_math.h>
#include <octet/tests/core/quant/quant_testing.h>
#include <octet/tests/runtime/contract_oracle.h>
#include <octet_test_paths.h>

namespace octet::test::lut_test {
namespace {

using Codes = std::vector<std::int8_t>;

constexpr auto kContracts = {Rounding::fp32, Rounding::single_rounding, Rounding::double_rounding};

Codes every_code() {
  Codes codes(256);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<std::int8_t>(static_cast<int>(i) - 128);
  }
  return codes;
}

Codes table_of(const Int8Lut& lut) {
  Codes codes = every_code();
  lut.run(codes, codes);
  return codes;
}

Int8Lut make(oracle::Table table, float scale, std::int32_t zero_point, Rounding rounding) {
  return table == oracle::Table::tanh ? Int8Lut::tanh(scale, zero_point, rounding)
                                      : Int8Lut::logistic(scale, zero_point, rounding);
}

TEST(Int8Lut, AgreesWithTheFormula) {
  PortableRandom random(153);
  for (int i = 0; i < 200; ++i) {
    const float scale = random.positive(1e-4F, 1.0F);
    const std::int32_t zero = random.integer(-128, 127);
    const Int8Lut logistic = Int8Lut::logistic(scale, zero, Rounding::fp32);
    const Int8Lut tanh = Int8Lut::tanh(scale, zero, Rounding::fp32);
    for (int code = -128; code <= 127; ++code) {
      const double x = double{scale * static_cast<float>(code - zero)};
      const double sigmoid = std::min(256.0 / (1.0 + std::exp(-x)) - 128.0, 127.0);
      EXPECT_NEAR(logistic(static_cast<std::int8_t>(code)), sigmoid, 0.5001);
      EXPECT_NEAR(tanh(static_cast<std::int8_t>(code)), std::min(128.0 * std::tanh(x), 127.0),
                  0.5001);
    }
    EXPECT_EQ(logistic(static_cast<std::int8_t>(zero)), 0);
    EXPECT_EQ(tanh(static_cast<std::int8_t>(zero)), 0);
  }
}

TEST(Int8Lut, FollowsTheKernelsOfItsContract) {
  PortableRandom random(17);
  std::size_t differing = 0;
  std::size_t entries = 0;
  for (int i = 0; i < 600; ++i) {
    // Scales of 2^-k put codes on ties; large ones shrink the radius to a few codes and to none.
    const float scale = i % 3 == 0   ? std::ldexp(1.0F, random.integer(-12, 5))
                        : i % 3 == 1 ? random.positive(1e-3F, 1.0F)
                                     : random.positive(1e-9F, 100.0F);
    const std::int32_t zero = random.integer(-128, 127);
    for (const auto table : {oracle::Table::logistic, oracle::Table::tanh}) {
      const oracle::Quant in{scale, zero};
      const Codes real = oracle::table(table, in, every_code(), oracle::Contract::fp32);
      const Codes fixed = oracle::table(table, in, every_code(), oracle::Contract::twice);
      EXPECT_EQ(table_of(make(table, scale, zero, Rounding::fp32)), real) << scale;
      EXPECT_EQ(table_of(make(table, scale, zero, Rounding::single_rounding)), real) << scale;
      EXPECT_EQ(table_of(make(table, scale, zero, Rounding::double_rounding)), fixed) << scale;
      if (scale > 1.0F) continue;
      for (std::size_t c = 0; c < real.size(); ++c) {
        EXPECT_LE(std::abs(real[c] - fixed[c]), 1) << scale;
        differing += real[c] != fixed[c] ? 1 : 0;
      }
      entries += real.size();
    }
  }
  // The two tables are not one, and close to it.
  EXPECT_GT(differing, 0U);
  EXPECT_LT(differing, entries / 1000);
}

TEST(Int8Lut, MeetsTheBytesOfTheRuntimes) {
  std::ifstream file(OCTET_TEST_DATA_DIR "/vectors_tables.json");
  const nlohmann::json root = nlohmann::json::parse(file);
  EXPECT_EQ(root.at("vectors").size(), 10U);
  for (const nlohmann::json& v : root.at("vectors")) {
    const auto table = v.at("op") == "TANH" ? oracle::Table::tanh : oracle::Table::logistic;
    const float scale = v.at("input").at("scale");
    const std::int32_t zero_point = v.at("input").at("zero_point");
    Codes codes = v.at("input").at("data");
    const Codes input = codes;
    for (const Rounding rounding : kContracts) {
      make(table, scale, zero_point, rounding).run(input, codes);
      EXPECT_EQ(codes, Codes(v.at("expected"))) << v.at("id") << " " << to_string(rounding);
    }
  }
}

TEST(FixedPointMath, FunctionsComeNearTheReals) {
  for (const double real : {-15.9, -3.0, -1.0, -0.25, -1e-3, 0.0, 1e-3, 0.5, 2.0, 15.9}) {
    const auto raw = static_cast<std::int32_t>(std::lround(std::ldexp(real, 27)));
    const double logistic = std::ldexp(fixed_point_logistic(raw, 4), -31);
    const double tanh = std::ldexp(fixed_point_tanh(raw, 4), -31);
    EXPECT_NEAR(logistic, 1.0 / (1.0 + std::exp(-real)), 1e-6) << real;
    EXPECT_NEAR(tanh, std::tanh(real), 1e-6) << real;
  }
  EXPECT_EQ(one_minus_x_over_one_plus_x(0), std::numeric_limits<std::int32_t>::max());
}

TEST(Int8Lut, Ends) {
  for (const Rounding rounding : kContracts) {
    EXPECT_EQ(Int8Lut::logistic(1.0F, 0, rounding)(127), 127);
    EXPECT_EQ(Int8Lut::logistic(1.0F, 0, rounding)(-128), -128);
    EXPECT_EQ(Int8Lut::tanh(1.0F, 0, rounding)(127), 127);
    EXPECT_EQ(Int8Lut::tanh(1.0F, 0, rounding)(-128), -128);
    // An input beyond float32, whose product with a code is infinite.
    EXPECT_EQ(Int8Lut::logistic(1e38F, 0, rounding)(1), 127);
    EXPECT_EQ(Int8Lut::logistic(1e38F, 0, rounding)(-128), -128);
  }
}

TEST(Int8Lut, RunAndErrors) {
  const Int8Lut tanh = Int8Lut::tanh(0.05F, 3, Rounding::fp32);
  Codes x{-128, -1, 3, 127};
  const Codes want{tanh(-128), tanh(-1), 0, tanh(127)};
  tanh.run(x, x);
  EXPECT_EQ(x, want);
  expect_throws<InvalidArgument>([&] { tanh.run(x, std::span(x).first(2)); }, {"4", "2"});
  for (const Rounding rounding : kContracts) {
    for (const float bad : {0.0F, -1.0F, kInf, kNan}) {
      expect_throws<InvalidArgument>([&] { (void)Int8Lut::tanh(bad, 0, rounding); }, {"tanh"});
    }
    for (const std::int32_t bad : {-129, 128}) {
      expect_throws<InvalidArgument>([&] { (void)Int8Lut::logistic(1, bad, rounding); },
                                     {"logistic", "int8"});
    }
  }
}

}  // namespace
}  // namespace octet::test::lut_test
