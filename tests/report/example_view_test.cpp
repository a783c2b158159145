#include <gtest/gtest.h>
#include <octet/report/example_view.h>
#include <octet/report/png.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace octet::test::example_view_test {
namespace {

using detail::view_of;
using Line = std::vector<std::pair<double, double>>;
using Lines = std::vector<Line>;

Dataset one_of(const Shape& shape, const std::vector<float>& values) {
  return Dataset::from_floats("one", shape, values, {0}, 1);
}

TEST(ExampleView, PicturesHoldTheShadesOfTheirValues) {
  struct Case {
    Shape shape;
    std::vector<float> values;
    std::vector<std::uint8_t> shades;
    PixelSize size;
  };
  const float most = std::numeric_limits<float>::max();
  for (const Case& one : {
           Case{{2, 3, 1}, {0, 1, 0.5F, 0.2F, 0, 1}, {0, 255, 128, 51, 0, 255}, {2, 3, 1}},
           Case{{2, 1, 3}, {1, 0, 0.2F, 0, 1, 0}, {255, 0, 51, 0, 255, 0}, {2, 1, 3}},
           // What is not from 0 to 1 is stretched.
           Case{{1, 3, 1}, {-1, 0, 3}, {0, 64, 255}, {1, 3, 1}},
           Case{{1, 3, 1}, {-1, 0, 1}, {0, 128, 255}, {1, 3, 1}},
           Case{{1, 2, 1}, {2, 2}, {0, 0}, {1, 2, 1}},
           Case{{1, 3, 1}, {-most, 0, most}, {0, 128, 255}, {1, 3, 1}},
       }) {
    const ExampleView view = view_of(one_of(one.shape, one.values), 0);
    EXPECT_EQ(view.png, png_file(one.shades, one.size)) << one.shape.to_string();
    EXPECT_FALSE(view.is_map);
    EXPECT_TRUE(view.lines.empty());
  }
}

TEST(ExampleView, LargePicturesAreMadeSmaller) {
  // Two halves, dark and bright.
  std::vector<float> values(200 * 100, 0.0F);
  std::fill(values.begin() + 100 * 100, values.end(), 1.0F);
  std::vector<std::uint8_t> small(96 * 48, 0);
  std::fill(small.begin() + 48 * 48, small.end(), 255);
  EXPECT_EQ(view_of(one_of({200, 100, 1}, values), 0).png, png_file(small, {96, 48, 1}));
  EXPECT_EQ(view_of(one_of({1000, 1, 3}, std::vector<float>(3000, 1.0F)), 0).png,
            png_file(std::vector<std::uint8_t>(96 * 3, 255), {96, 1, 3}));
}

TEST(ExampleView, FeaturesOfAFrontEndAreMapsWhoseTimeGoesToTheRight) {
  const Dataset sounds =
      Dataset::from_bytes("sounds", {2, 3}, {1, 2, 3, 4, 5, 6}, {0}, 1).with_front_end("some");
  const ExampleView view = view_of(sounds, 0);
  EXPECT_EQ(view.png, png_file(std::vector<std::uint8_t>{3, 6, 2, 5, 1, 4}, {3, 2, 1}));
  EXPECT_TRUE(view.is_map);
  const Dataset long_ones =
      Dataset::from_bytes("long", {400, 2, 1}, std::vector<std::uint8_t>(800, 9), {0}, 1)
          .with_front_end("some");
  EXPECT_EQ(view_of(long_ones, 0).png, png_file(std::vector<std::uint8_t>(2 * 96, 9), {2, 96, 1}));
}

TEST(ExampleView, TwoDimensionsArePicturesOrSignals) {
  const std::vector<std::uint8_t> bytes(2 * 3, 5);
  EXPECT_EQ(view_of(Dataset::from_bytes("grey", {2, 3}, bytes, {0}, 1), 0).png,
            png_file(bytes, {2, 3, 1}));
  EXPECT_EQ(view_of(one_of({2, 17}, std::vector<float>(34, 1.0F)), 0).png,
            png_file(std::vector<std::uint8_t>(34, 255), {2, 17, 1}));
  const ExampleView signal = view_of(one_of({3, 2}, {1, -1, 2, -2, 3, -3}), 0);
  EXPECT_EQ(signal.png, "");
  EXPECT_EQ(signal.lines, (Lines{{{0, 1}, {1, 2}, {2, 3}}, {{0, -1}, {1, -2}, {2, -3}}}));
  EXPECT_EQ(signal.steps, 3U);
  EXPECT_EQ(view_of(one_of({3}, {4, 5, 6}), 0).lines, (Lines{{{0, 4}, {1, 5}, {2, 6}}}));
  EXPECT_EQ(view_of(one_of({2, 16}, std::vector<float>(32, 1.0F)), 0).lines.size(), 16U);
}

/// The naive counterpart: the extremes of each stretch of steps.
TEST(ExampleView, LongSignalsKeepTheirExtremes) {
  constexpr std::size_t kSteps = 8000;
  std::vector<float> wave(kSteps);
  for (std::size_t i = 0; i < kSteps; ++i) {
    wave[i] = static_cast<float>(std::sin(0.37 * static_cast<double>(i)));
  }
  wave[4321] = 5.0F;
  wave[77] = -4.0F;
  const Lines lines = view_of(one_of({kSteps, 1}, wave), 0).lines;
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_LE(lines[0].size(), 320U);
  EXPECT_GE(lines[0].size(), 300U);
  double before = -1.0;
  for (const auto& [step, value] : lines[0]) {
    EXPECT_GT(step, before);
    before = step;
    EXPECT_EQ(value, wave[static_cast<std::size_t>(step)]);
  }
  EXPECT_EQ(std::ranges::count(lines[0], std::pair(4321.0, 5.0)), 1);
  EXPECT_EQ(std::ranges::count(lines[0], std::pair(77.0, -4.0)), 1);
  for (std::size_t from = 0; from < kSteps; from += 50) {
    const auto [least, largest] = std::minmax_element(wave.begin() + static_cast<long>(from),
                                                      wave.begin() + static_cast<long>(from) + 50);
    EXPECT_EQ(std::ranges::count(lines[0], *least, &std::pair<double, double>::second) > 0, true);
    EXPECT_EQ(std::ranges::count(lines[0], *largest, &std::pair<double, double>::second) > 0, true);
  }
}

TEST(ExampleView, AllLinesTogetherAreBounded) {
  const Lines lines = view_of(one_of({5000, 9}, std::vector<float>(45000, 1.0F)), 0).lines;
  ASSERT_EQ(lines.size(), 9U);
  std::size_t points = 0;
  for (const Line& line : lines) points += line.size();
  EXPECT_LE(points, 1200U);
  EXPECT_GE(points, 500U);
}

TEST(ExampleView, ShapesOfNoFormAndOddValuesShowNothing) {
  for (const Dataset& data :
       {one_of({3, 2, 2}, std::vector<float>(12, 1.0F)), one_of({1}, {1.0F}),
        one_of({2, 2, 2, 1}, std::vector<float>(8, 1.0F)), one_of({1, 2, 1}, {0.0F, NAN}),
        one_of({2}, {0.0F, std::numeric_limits<float>::infinity()})}) {
    const ExampleView view = view_of(data, 0);
    EXPECT_EQ(view.png, "") << data.example_shape().to_string();
    EXPECT_TRUE(view.lines.empty()) << data.example_shape().to_string();
  }
}

}  // namespace
}  // namespace octet::test::example_view_test
