#include <octet/core/quant/quantize.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include <gtest/gtest.h>

#include <octet/core/error.h>
#include <octet/tests/core/quant/quant_testing.h>

namespace octet::test::quantize_test {
namespace {

constexpr auto kModes = {RoundMode::half_away, RoundMode::half_to_even};

// Section 7.5, one element, written out again.
std::int64_t naive_code(float f, float scale, std::int32_t zero_point, std::int64_t qmin,
                        std::int64_t qmax, RoundMode mode) {
  const float quotient = f / scale;
  if (std::isnan(quotient)) {
    return std::clamp<std::int64_t>(zero_point, qmin, qmax);
  }
  const float rounded =
      mode == RoundMode::half_to_even ? std::nearbyint(quotient) : std::round(quotient);
  if (std::fabs(rounded) > 1e15F) {
    return rounded > 0 ? qmax : qmin;
  }
  return std::clamp(static_cast<std::int64_t>(rounded) + zero_point, qmin, qmax);
}

template <typename T>
QuantParams params_for(std::vector<float> scales, std::vector<std::int32_t> zero_points,
                       int dimension = 0) {
  return {std::move(scales), std::move(zero_points), dimension, std::numeric_limits<T>::min(),
          std::numeric_limits<T>::max()};
}

// The example of section 2: [-1000, 1000], uint8, codes 1..255, 255 steps.
TEST(Quantize, WorkedExample) {
  QuantSpec spec;
  spec.is_signed = false;
  spec.narrow_range = true;
  spec.narrow_steps = NarrowSteps::full;
  const QuantParams params = choose_quant_params(-1000.0F, 1000.0F, spec, "example");
  EXPECT_EQ(params.scale(), static_cast<float>(2000.0 / 255.0));
  EXPECT_EQ(params.zero_point(), 128);
  EXPECT_EQ(params.qmin, 1);
  EXPECT_EQ(params.qmax, 255);
  const std::vector<float> x{39.215686275F, 0.0F, 1000.0F, -1000.0F};
  std::vector<std::uint8_t> codes(4);
  quantize(x, params, codes);
  EXPECT_EQ(codes, (std::vector<std::uint8_t>{133, 128, 255, 1}));
  std::vector<float> back(4);
  dequantize(codes, params, back);
  EXPECT_NEAR(back[0], 39.2157F, 0.00005F);
  EXPECT_EQ(back[1], 0.0F);
  EXPECT_NEAR(back[2], 996.0784F, 0.0001F);
  EXPECT_NEAR(back[3], -996.0784F, 0.0001F);
  for (const RoundMode mode : kModes) {
    quantize(x, params, codes, mode);
    EXPECT_EQ(codes, (std::vector<std::uint8_t>{133, 128, 255, 1}));
  }
  // TensorFlow's 254 steps: the same codes, other real values.
  spec.narrow_steps = NarrowSteps::reduced;
  const QuantParams reduced = choose_quant_params(-1000.0F, 1000.0F, spec, "example");
  EXPECT_EQ(reduced.zero_point(), 128);
  quantize(x, reduced, codes);
  EXPECT_EQ(codes, (std::vector<std::uint8_t>{133, 128, 255, 1}));
  dequantize(codes, reduced, back);
  EXPECT_NEAR(back[0], 39.3701F, 0.00005F);
  EXPECT_EQ(back[2], 1000.0F);
  EXPECT_EQ(back[3], -1000.0F);
}

TEST(Quantize, ExactHalves) {
  const std::vector<float> x{0.25F, 0.75F, 1.25F, -0.25F, -0.75F, -1.25F};
  const QuantParams params = QuantParams::per_tensor(0.5F, 10);
  std::vector<std::int8_t> codes(6);
  quantize(x, params, codes);
  EXPECT_EQ(codes, (std::vector<std::int8_t>{11, 12, 13, 9, 8, 7}));
  quantize(x, params, codes, RoundMode::half_to_even);
  EXPECT_EQ(codes, (std::vector<std::int8_t>{10, 12, 12, 10, 8, 8}));
}

TEST(Quantize, TheQuotientIsFloat32) {
  // 13.9999998 in double; float32 rounds the quotient to a half.
  PortableRandom random(6);
  int differ = 0;
  for (int i = 0; i < 20000; ++i) {
    const float scale = random.positive(1e-3F, 1.0F);
    const float x = (static_cast<float>(random.integer(-100, 99)) + 0.5F) * scale;
    std::vector<std::int8_t> code(1);
    quantize(std::vector<float>{x}, QuantParams::per_tensor(scale, 0), code);
    EXPECT_EQ(code[0], naive_code(x, scale, 0, -128, 127, RoundMode::half_away));
    differ += code[0] != static_cast<std::int8_t>(std::round(double{x} / double{scale})) ? 1 : 0;
  }
  EXPECT_GT(differ, 100) << "the case that the test is about should come up";
}

template <typename T>
void expect_special_values() {
  const QuantParams params = params_for<T>({0.5F}, {3});
  std::vector<T> codes(6);
  quantize(std::vector<float>{kNan, kInf, -kInf, 3e38F, -3e38F, 0.0F}, params, codes);
  constexpr T kLo = std::numeric_limits<T>::min();
  constexpr T kHi = std::numeric_limits<T>::max();
  EXPECT_EQ(codes, (std::vector<T>{3, kHi, kLo, kHi, kLo, 3}));
}

TEST(Quantize, SpecialValues) {
  expect_special_values<std::int8_t>();
  expect_special_values<std::uint8_t>();
  expect_special_values<std::int16_t>();
  expect_special_values<std::int32_t>();
}

TEST(Quantize, NanIsClampedToo) {
  std::vector<std::int8_t> code(1);
  quantize(std::vector<float>{kNan}, QuantParams::per_tensor(1.0F, -128, -127, 127), code);
  EXPECT_EQ(code[0], -127);
}

template <typename T>
void expect_agrees_with_naive(std::uint32_t seed) {
  PortableRandom random(seed);
  constexpr std::int32_t kLo = std::numeric_limits<T>::min();
  constexpr std::int32_t kHi = std::numeric_limits<T>::max();
  const bool wide = std::is_same_v<T, std::int32_t>;
  for (std::size_t size = 0; size < 70; ++size) {
    const float scale = random.positive(1e-5F, 1e2F);
    const std::int32_t zero_point = random.integer(wide ? -100000 : kLo, wide ? 100000 : kHi);
    const float reach = scale * (wide ? 1e10F : 1.2F * static_cast<float>(kHi));
    std::vector<float> x = random.reals(size, -reach, reach);
    for (std::size_t i = 0; i < size; i += 3) {
      x[i] = (static_cast<float>(random.integer(-200, 200)) + 0.5F) * scale;
    }
    QuantParams params = params_for<T>({scale}, {zero_point});
    if (size % 2 == 1 && !wide) {
      params.qmin += 1;
      params.qmax -= 2;
    }
    for (const RoundMode mode : kModes) {
      std::vector<T> codes(size);
      quantize(x, params, codes, mode);
      for (std::size_t i = 0; i < size; ++i) {
        EXPECT_EQ(std::int64_t{codes[i]},
                  naive_code(x[i], scale, zero_point, params.qmin, params.qmax, mode))
            << x[i] << " / " << scale << " + " << zero_point;
      }
    }
  }
}

TEST(Quantize, AgreesWithNaive) {
  expect_agrees_with_naive<std::int8_t>(7);
  expect_agrees_with_naive<std::uint8_t>(8);
  expect_agrees_with_naive<std::int16_t>(9);
  expect_agrees_with_naive<std::int32_t>(10);
}

template <typename T>
void expect_channels_agree(std::span<const std::int64_t> shape, int axis, std::uint32_t seed) {
  PortableRandom random(seed);
  std::size_t size = 1;
  std::size_t inner = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    size *= static_cast<std::size_t>(shape[d]);
    inner *= d > static_cast<std::size_t>(axis) ? static_cast<std::size_t>(shape[d]) : 1;
  }
  const auto channels = static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]);
  QuantParams params = params_for<T>({}, {}, axis);
  for (std::size_t c = 0; c < channels; ++c) {
    params.scales.push_back(random.positive(0.01F, 1.0F));
    params.zero_points.push_back(random.integer(0, 100));
  }
  const std::vector<float> x = random.reals(size, -100.0F, 100.0F);
  std::vector<T> codes(size);
  std::vector<float> back(size);
  quantize(x, shape, params, codes);
  dequantize(codes, shape, params, back);
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t c = i / inner % channels;
    EXPECT_EQ(std::int64_t{codes[i]}, naive_code(x[i], params.scale(c), params.zero_point(c),
                                                 params.qmin, params.qmax, RoundMode::half_away));
    EXPECT_EQ(back[i],
              params.scale(c) * static_cast<float>(std::int64_t{codes[i]} - params.zero_point(c)));
  }
}

TEST(Quantize, PerChannelOnAnyAxis) {
  const std::vector<std::int64_t> shape{3, 5, 2, 7};
  for (int axis = 0; axis < 4; ++axis) {
    const auto seed = static_cast<std::uint32_t>(axis);
    expect_channels_agree<std::int8_t>(shape, axis, 20 + seed);
    expect_channels_agree<std::uint8_t>(shape, axis, 30 + seed);
    expect_channels_agree<std::int16_t>(shape, axis, 40 + seed);
    expect_channels_agree<std::int32_t>(shape, axis, 50 + seed);
  }
  const std::vector<std::int64_t> vector{19};
  expect_channels_agree<std::int8_t>(vector, 0, 60);
}

TEST(Dequantize, OneScaleRoundsTheExactProduct) {
  const QuantParams params = params_for<std::int32_t>({0.1F}, {kInt32Max});
  const std::vector<std::int32_t> q{kInt32Min, 0, 123456789, kInt32Max};
  std::vector<float> f(4);
  dequantize(q, params, f);
  for (std::size_t i = 0; i < q.size(); ++i) {
    const double steps = static_cast<double>(q[i]) - kInt32Max;
    EXPECT_EQ(f[i], static_cast<float>(double{0.1F} * steps));
  }
}

TEST(Quantize, ShapeWithOneScaleIsPerTensor) {
  std::vector<std::int8_t> codes(4);
  const std::vector<std::int64_t> shape{2, 2};
  quantize(std::vector<float>{1, 2, 3, 4}, shape, QuantParams::per_tensor(0.5F, 0), codes);
  EXPECT_EQ(codes, (std::vector<std::int8_t>{2, 4, 6, 8}));
}

TEST(Quantize, Errors) {
  std::vector<std::int8_t> codes(4);
  std::vector<std::uint8_t> unsigned_codes(4);
  std::vector<float> x(4);
  const std::vector<std::int64_t> shape{2, 2};
  const auto quantized = [&](const QuantParams& params) {
    return [&, params] { quantize(x, shape, params, codes); };
  };
  expect_throws<InvalidArgument>(
      [&] { quantize(std::vector<float>(3), QuantParams::per_tensor(1, 0), codes); }, {"3", "4"});
  expect_throws<InvalidArgument>(
      [&] { dequantize(codes, QuantParams::per_tensor(1, 0), std::span(x).first(2)); },
      {"dequantize", "4", "2"});
  expect_throws<InvalidArgument>(quantized(QuantParams::per_tensor(0, 0)), {"scale 0"});
  expect_throws<InvalidArgument>(quantized(QuantParams::per_tensor(1, 0, 0, 255)),
                                 {"0..255", "-128..127"});
  expect_throws<InvalidArgument>(quantized(QuantParams::per_tensor(1, 200)), {"zero point 200"});
  expect_throws<InvalidArgument>(quantized({{1, 1, 1}, {0, 0, 0}, 1}), {"3 scales", "extent 2"});
  expect_throws<InvalidArgument>(quantized({{1, 1}, {0, 0}, 2}), {"axis 2"});
  expect_throws<InvalidArgument>(quantized({{1, 1}, {0, 0}, -1}), {"axis -1"});
  expect_throws<InvalidArgument>(
      [&] {
        quantize(x, std::vector<std::int64_t>{2, 3}, {{1, 1}, {0, 0}, 0}, codes);
      },
      {"[2, 3]", "6"});
  expect_throws<InvalidArgument>(
      [&] {
        quantize(x, std::vector<std::int64_t>{2, -2}, {{1, 1}, {0, 0}, 0}, codes);
      },
      {"negative"});
  expect_throws<InvalidArgument>(
      [&] {
        quantize(x, {{1, 1}, {0, 0}, 0}, codes);
      },
      {"shape of the data"});
  expect_throws<InvalidArgument>(
      [&] { quantize(x, QuantParams::per_tensor(1, 0, -128, 127), unsigned_codes); },
      {"-128..127"});
}

TEST(Quantize, EmptyShapes) {
  std::vector<std::int8_t> none;
  quantize(std::vector<float>{}, std::vector<std::int64_t>{0, 2}, {{1, 1}, {0, 0}, 1}, none);
  expect_throws<InvalidArgument>(
      [&] {
        const std::int64_t huge = std::int64_t{1} << 62;
        quantize(std::vector<float>{}, std::vector<std::int64_t>{2, huge, 4}, {{1, 1}, {0, 0}, 0},
                 none);
      },
      {"holds"});
}

}  // namespace
}  // namespace octet::test::quantize_test
