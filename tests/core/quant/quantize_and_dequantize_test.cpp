#include <octet/core/quant/tensorflow/quantize_and_dequantize.h>

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <octet/core/error.h>
#include <octet/tests/core/quant/quant_testing.h>

namespace octet::test::quantize_and_dequantize_test {
namespace {

using Options = QuantizeAndDequantizeOptions;
using Version = QuantizeAndDequantizeVersion;
using Shape = std::vector<std::int64_t>;

std::vector<float> run(const std::vector<float>& x, const Options& options,
                       const std::vector<float>& min = {}, const std::vector<float>& max = {},
                       Shape shape = {}, Version version = Version::v2) {
  if (shape.empty()) {
    shape = {static_cast<std::int64_t>(x.size())};
  }
  std::vector<float> y(x.size());
  quantize_and_dequantize(x, shape, min, max, options, y, version, "acts");
  return y;
}

// Sections 3.2 and 3.3 for one slice, written out again.
std::vector<float> naive(const std::vector<float>& x, float min, float max, const Options& o) {
  const double codes = std::ldexp(1.0, o.num_bits);
  const auto qmin =
      static_cast<float>(o.signed_input ? -codes / 2 + (o.narrow_range ? 1 : 0) : 0.0);
  const auto qmax = static_cast<float>((o.signed_input ? codes / 2 : codes) - 1);
  const float from_min = qmin * min > 0 ? qmin / min : kFltMax;
  const float from_max = qmax * max > 0 ? qmax / max : kFltMax;
  float scale = 0;
  float inverse = 0;
  if (from_min < from_max) {
    scale = from_min;
    inverse = min / qmin;
    max = qmax * inverse;
  } else {
    scale = from_max;
    inverse = max / qmax;
    min = qmin * inverse;
  }
  std::vector<float> y;
  for (float value : x) {
    if (o.range_given) {
      value = std::min(std::max(value, min), max);
    }
    const float scaled = value * scale;
    y.push_back(
        (o.round_mode == RoundMode::half_up ? std::floor(scaled + 0.5F) : std::nearbyint(scaled)) *
        inverse);
  }
  return y;
}

TEST(QuantizeAndDequantize, AgreesWithNaive) {
  PortableRandom random(100);
  for (int i = 0; i < 600; ++i) {
    Options options;
    options.signed_input = i % 2 == 0;
    options.narrow_range = i % 3 == 0;
    options.range_given = i % 5 < 2;
    options.round_mode = i % 7 < 3 ? RoundMode::half_up : RoundMode::half_to_even;
    options.num_bits = options.signed_input ? 2 + i % 15 : 1 + i % 16;
    // Round scales make ties.
    const float min = -static_cast<float>(random.integer(1, 16)) * 0.25F;
    const float max = static_cast<float>(random.integer(1, 16)) * 0.25F;
    std::vector<float> x = random.reals(static_cast<std::size_t>(2 + i % 30), min, max);
    for (std::size_t k = 0; k < x.size(); k += 2) {
      x[k] = std::ldexp(std::round(std::ldexp(x[k], 8)), -8);
    }
    x[0] = min;
    x[1] = max;
    const std::vector<float> given_min{min / 2};
    const std::vector<float> given_max{max / 2};
    const std::vector<float> want =
        options.range_given ? naive(x, min / 2, max / 2, options) : naive(x, min, max, options);
    EXPECT_EQ(run(x, options, given_min, given_max), want) << i;
  }
}

TEST(QuantizeAndDequantize, PerAxis) {
  PortableRandom random(101);
  const Shape shape{3, 4, 5};
  std::vector<float> x = random.reals(60, -3.0F, 5.0F);
  for (int axis = 0; axis < 3; ++axis) {
    for (const bool given : {false, true}) {
      Options options;
      options.axis = axis;
      options.range_given = given;
      const std::size_t inner = axis == 0 ? 20 : (axis == 1 ? 5 : 1);
      const auto channels = static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]);
      const std::vector<float> min = random.reals(channels, -2.0F, -1.0F);
      const std::vector<float> max = random.reals(channels, 1.0F, 2.0F);
      const std::vector<float> y = run(x, options, min, max, shape);
      EXPECT_EQ(run(x, options, min, max, shape, Version::v3), y);
      for (std::size_t c = 0; c < channels; ++c) {
        std::vector<float> slice;
        std::vector<float> got;
        for (std::size_t i = 0; i < x.size(); ++i) {
          if (i / inner % channels == c) {
            slice.push_back(x[i]);
            got.push_back(y[i]);
          }
        }
        const auto [low, high] = std::minmax_element(slice.begin(), slice.end());
        EXPECT_EQ(got, given ? naive(slice, min[c], max[c], options)
                             : naive(slice, *low, *high, options));
      }
    }
  }
}

// Section 3.3: without a given range nothing is clamped.
TEST(QuantizeAndDequantize, UnsignedNegativeDataStayNegative) {
  Options options;
  options.signed_input = false;
  const std::vector<float> y = run({-1.0F, 0.0F, 1.0F}, options);
  EXPECT_EQ(y, (std::vector<float>{-1.0F, 0.0F, 1.0F}));
  options.range_given = true;
  EXPECT_EQ(run({-1.0F, 0.0F, 1.0F}, options, {-1.0F}, {1.0F}),
            (std::vector<float>{0.0F, 0.0F, 1.0F}));
}

TEST(QuantizeAndDequantize, RoundModes) {
  Options options;
  options.range_given = true;
  const std::vector<float> x{0.5F, 1.5F, -0.5F, -1.5F};
  EXPECT_EQ(run(x, options, {-128.0F}, {127.0F}), (std::vector<float>{0.0F, 2.0F, -0.0F, -2.0F}));
  options.round_mode = RoundMode::half_up;
  EXPECT_EQ(run(x, options, {-128.0F}, {127.0F}), (std::vector<float>{1.0F, 2.0F, 0.0F, -1.0F}));
  EXPECT_EQ(parse_round_mode("HALF_TO_EVEN"), RoundMode::half_to_even);
  EXPECT_EQ(parse_round_mode("HALF_UP"), RoundMode::half_up);
  expect_throws<InvalidArgument>([] { (void)parse_round_mode("HALF_DOWN"); }, {"HALF_DOWN"});
  options.round_mode = RoundMode::half_away;
  expect_throws<InvalidArgument>([&] { run(x, options, {-1.0F}, {1.0F}); }, {"round_mode"});
}

TEST(QuantizeAndDequantize, ScaleTakesTheWiderSide) {
  const QuantizeAndDequantizeScale low = quantize_and_dequantize_scale(-128.0F, 1.0F, {});
  EXPECT_EQ(low.scale, 1.0F);
  EXPECT_EQ(low.max, 127.0F);
  const QuantizeAndDequantizeScale high = quantize_and_dequantize_scale(-1.0F, 127.0F, {});
  EXPECT_EQ(high.scale, 1.0F);
  EXPECT_EQ(high.min, -128.0F);
  EXPECT_FLOAT_EQ(quantize_and_dequantize_scale(0.5F, 1.0F, {}).scale, 127.0F);  // one-sided
  EXPECT_FLOAT_EQ(quantize_and_dequantize_scale(-1.0F, -0.5F, {}).scale, 128.0F);
}

TEST(QuantizeAndDequantize, TiesOfTheScalesTakeTheMaximum) {
  PortableRandom random(102);
  int ties = 0;
  for (int i = 0; i < 5000; ++i) {
    const float max = random.positive(0.1F, 10.0F);
    const float min = -max * (128.0F / 127.0F);
    const QuantizeAndDequantizeScale scale = quantize_and_dequantize_scale(min, max, {});
    if (-128.0F / min == 127.0F / max && min / -128.0F != max / 127.0F) {
      ++ties;
      EXPECT_EQ(scale.inverse, max / 127.0F);
      EXPECT_EQ(scale.max, max);
    }
  }
  EXPECT_GT(ties, 0);
}

TEST(QuantizeAndDequantize, DegenerateRangesGiveZeros) {
  const std::vector<float> zeros{0.0F, 0.0F};
  Options options;
  EXPECT_EQ(run({0.0F, -0.0F}, options), zeros);
  EXPECT_EQ(run({1e-45F, -1e-45F}, options), zeros);
  options.signed_input = false;
  EXPECT_EQ(run({-2.0F, -1.0F}, options), zeros);
  options.range_given = true;
  EXPECT_EQ(run({-2.0F, 3.0F}, options, {0.0F}, {0.0F}), zeros);
  EXPECT_EQ(run({-2.0F, 3.0F}, options, {-2.0F}, {-1.0F}), zeros);
  options.signed_input = true;  // min = max != 0 is sound: a scale from one side
  EXPECT_EQ(run({-2.0F, 3.0F}, options, {3.0F}, {3.0F}), (std::vector<float>{-2.007874F, 3.0F}));
}

TEST(QuantizeAndDequantize, NonFiniteRangesNameTheTensor) {
  Options options;
  for (const float bad : {kNan, kInf, -kInf}) {
    options.range_given = false;
    expect_throws<NumericError>([&] { run({0.0F, bad}, options); }, {"acts", "of the data"});
    expect_throws<NumericError>([&] { run({bad, 0.0F}, options); }, {"acts", "of the data"});
    options.range_given = true;
    expect_throws<NumericError>(
        [&] {
          run({0.0F, 1.0F}, options, {bad}, {1.0F});
        },
        {"acts", "given"});
    expect_throws<NumericError>(
        [&] {
          run({0.0F, 1.0F}, options, {-1.0F}, {bad});
        },
        {"acts", "given"});
  }
  const std::vector<float> y = run({kNan, kInf, -kInf}, options, {-1.0F}, {1.0F});
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 1.0F);
  EXPECT_FLOAT_EQ(y[2], -128.0F / 127.0F);
}

TEST(QuantizeAndDequantize, HugeValuesStayFinite) {
  const std::vector<float> y = run({-3e38F, 3e38F, 1.0F}, Options{});
  EXPECT_FLOAT_EQ(y[1], 3e38F);
  EXPECT_EQ(y[2], 0.0F);
  Options wide;
  wide.num_bits = 61;
  EXPECT_FLOAT_EQ(run({-1.0F, 0.3F}, wide)[1], 0.3F);
}

TEST(QuantizeAndDequantize, Bits) {
  Options options;
  for (const int bits : {0, -1, 62, 63}) {
    options.num_bits = bits;
    expect_throws<InvalidArgument>([&] { run({1.0F}, options); }, {"num_bits is out of range"});
  }
  options.signed_input = false;
  options.num_bits = 62;
  EXPECT_NO_THROW(run({1.0F}, options));
  options.num_bits = 63;
  expect_throws<InvalidArgument>([&] { run({1.0F}, options); }, {"num_bits is out of range"});
  EXPECT_EQ(quantize_and_dequantize_num_bits(std::vector<std::int32_t>{7}, {}), 7);
  expect_throws<InvalidArgument>(
      [] { (void)quantize_and_dequantize_num_bits(std::vector<std::int32_t>{7}, Shape{1}); },
      {"The `num_bits` tensor should be a scalar."});
}

TEST(QuantizeAndDequantize, AxisErrors) {
  const std::vector<float> x(4, 1.0F);
  const Shape shape{2, 2};
  const auto with_axis = [&](int axis, Version version) {
    return [&, axis, version] {
      Options options;
      options.axis = axis;
      run(x, options, {}, {}, shape, version);
    };
  };
  for (const Version version : {Version::v2, Version::v4}) {
    expect_throws<InvalidArgument>(with_axis(-2, version), {"Axis must be at least -1"});
    expect_throws<InvalidArgument>(with_axis(2, version),
                                   {"Shape must be at least rank 3 but is rank 2"});
  }
  for (const int axis : {-3, 2}) {
    expect_throws<InvalidArgument>(with_axis(axis, Version::v3),
                                   {"Axis requested is larger than input dimensions"});
  }
  EXPECT_NO_THROW(with_axis(-2, Version::v3)());
  EXPECT_EQ(quantize_and_dequantize_axis(std::nullopt, 3), -1);
  EXPECT_EQ(quantize_and_dequantize_axis(-1, 3), 2);
  EXPECT_EQ(quantize_and_dequantize_axis(1, 3), 1);
  expect_throws<InvalidArgument>([] { (void)quantize_and_dequantize_axis(3, 3); }, {"axis 3"});
  expect_throws<InvalidArgument>([] { (void)quantize_and_dequantize_axis(-4, 3); }, {"axis -4"});
}

TEST(QuantizeAndDequantize, V3CountsANegativeAxisFromTheEnd) {
  const std::vector<float> x{1.0F, 0.3F, 100.0F, 0.3F};
  Options options;
  options.axis = -2;
  const std::vector<float> y = run(x, options, {}, {}, {2, 2}, Version::v3);
  options.axis = 0;
  EXPECT_EQ(y, run(x, options, {}, {}, {2, 2}));
  options.axis = 1;
  EXPECT_NE(y, run(x, options, {}, {}, {2, 2}));
}

TEST(QuantizeAndDequantize, RangeErrors) {
  Options options;
  options.range_given = true;
  expect_throws<InvalidArgument>([&] { run({1.0F}, options, {1.0F}, {0.0F}); },
                                 {"Invalid range: input_min 1 > input_max 0"});
  expect_throws<InvalidArgument>([&] { run({1.0F}, options, {}, {0.0F}); },
                                 {"input_min has incorrect size, expected 1 was 0"});
  options.axis = 0;
  expect_throws<InvalidArgument>(
      [&] {
        run({1.0F, 2.0F}, options, {0.0F, 0.0F}, {1.0F});
      },
      {"input_max has incorrect size, expected 2 was 1"});
  check_quantize_and_dequantize_range_shapes(-1, {}, {}, "x");
  check_quantize_and_dequantize_range_shapes(0, Shape{2}, Shape{2}, "x");
  expect_throws<InvalidArgument>(
      [] { check_quantize_and_dequantize_range_shapes(0, Shape{2}, {}, "x"); },
      {"Shape must be rank 1 but is rank 0"});
  expect_throws<InvalidArgument>(
      [] { check_quantize_and_dequantize_range_shapes(-1, Shape{1}, {}, "x"); },
      {"Shape must be rank 0 but is rank 1"});
}

TEST(QuantizeAndDequantize, Empty) { EXPECT_TRUE(run({}, Options{}, {}, {}, {0, 3}).empty()); }

TEST(QuantizeAndDequantizeV4Grad, UsesTheOperandsAsGiven) {
  const std::vector<float> x{-1.01F, -1.0F, 0.0F, 1.0F, 1.004F, kNan};
  const std::vector<float> g{1, 2, 3, 4, 5, 6};
  std::vector<float> d(6);
  std::vector<float> zero{9.0F};
  std::vector<float> other{9.0F};
  // The adjusted range would reach down to -128/127.
  quantize_and_dequantize_v4_grad(g, x, Shape{6}, std::vector<float>{-1.0F},
                                  std::vector<float>{1.0F}, -1, d, zero, other);
  EXPECT_EQ(d, (std::vector<float>{0, 2, 3, 4, 0, 0}));
  EXPECT_EQ(zero[0], 0.0F);
  EXPECT_EQ(other[0], 0.0F);
  // Placeholder bounds let only zero through.
  quantize_and_dequantize_v4_grad(g, x, Shape{6}, zero, other, -1, d, zero, other);
  EXPECT_EQ(d, (std::vector<float>{0, 0, 3, 0, 0, 0}));
  std::vector<float> two(2);
  quantize_and_dequantize_v4_grad(g, x, Shape{3, 2}, std::vector<float>{-9.0F, -1.0F},
                                  std::vector<float>{9.0F, 0.0F}, 1, d, two, two);
  EXPECT_EQ(d, (std::vector<float>{1, 2, 3, 0, 5, 0}));
  expect_throws<InvalidArgument>(
      [&] { quantize_and_dequantize_v4_grad(zero, x, Shape{6}, zero, zero, -1, d, zero, zero); },
      {"gradient and input must be the same size"});
  expect_throws<InvalidArgument>(
      [&] { quantize_and_dequantize_v4_grad(g, x, Shape{6}, two, zero, -1, d, zero, zero); },
      {"input_min has incorrect size"});
}

}  // namespace
}  // namespace octet::test::quantize_and_dequantize_test
