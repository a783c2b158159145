#include <gtest/gtest.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/train/data/digit_glyphs.h>
#include <octet/train/data/digit_pen.h>
#include <octet/train/data/digits.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace octet::test::digits_test {
namespace {

unsigned long crc(std::span<const std::uint8_t> bytes) {
  return crc32(0, bytes.data(), static_cast<uInt>(bytes.size()));
}

TEST(Digits, HasTheShapeOfMnist) {
  const DataSplit split = make_digits(0, 30, 20);
  const Dataset& train = split.train;
  const Dataset& test = split.test;
  EXPECT_EQ(train.size(), 30U);
  EXPECT_EQ(test.size(), 20U);
  EXPECT_EQ(train.example_shape(), (Shape{28, 28}));
  EXPECT_EQ(train.classes(), 10);
  EXPECT_EQ(train.name(), "digits (drawn by octet)");
  EXPECT_EQ(test.name(), "digits (drawn by octet)");
}

TEST(Digits, SameBytesOnAnyCompilerAndMachine) {
  const DataSplit split = make_digits(0, 100, 100);
  const Dataset& train = split.train;
  const Dataset& test = split.test;
  EXPECT_EQ(crc(train.bytes()), 3657446767U);
  EXPECT_EQ(crc(test.bytes()), 2630367716U);
}

TEST(Digits, SameBytesOnAnyNumberOfThreads) {
  const test::KeepThreads keep;
  set_num_threads(1);
  const DataSplit split = make_digits(3, 1000, 333);
  const Dataset& train = split.train;
  const Dataset& test = split.test;
  for (const int threads : {2, 4}) {
    set_num_threads(threads);
    const auto again = make_digits(3, 1000, 333);
    EXPECT_TRUE(std::ranges::equal(again.train.bytes(), train.bytes())) << threads;
    EXPECT_TRUE(std::ranges::equal(again.test.bytes(), test.bytes())) << threads;
    EXPECT_TRUE(std::ranges::equal(again.train.labels(), train.labels())) << threads;
  }
}

TEST(Digits, ASmallerSetIsTheHeadOfALarger) {
  const Dataset large = make_digits(1, 200, 1).train;
  const Dataset small = make_digits(1, 77, 1).train;
  EXPECT_TRUE(std::ranges::equal(small.bytes(), large.head(77).bytes()));
  EXPECT_TRUE(std::ranges::equal(small.labels(), large.head(77).labels()));
}

TEST(Digits, SeedsAndSetsDiffer) {
  const DataSplit split = make_digits(0, 50, 50);
  const Dataset& train = split.train;
  const Dataset& test = split.test;
  const auto other = make_digits(1, 50, 50);
  EXPECT_FALSE(std::ranges::equal(train.bytes(), other.train.bytes()));
  EXPECT_FALSE(std::ranges::equal(test.bytes(), other.test.bytes()));
  EXPECT_FALSE(std::ranges::equal(train.bytes(), test.bytes()));
  EXPECT_FALSE(std::ranges::equal(train.labels(), test.labels()));
}

TEST(Digits, NoPictureComesTwice) {
  const DataSplit split = make_digits(0, 500, 500);
  const Dataset& train = split.train;
  const Dataset& test = split.test;
  std::vector<unsigned long> sums;
  for (const Dataset* set : {&train, &test}) {
    for (std::size_t i = 0; i < set->size(); ++i) {
      sums.push_back(crc(set->bytes().subspan(i * kDigitPixels, kDigitPixels)));
    }
  }
  std::ranges::sort(sums);
  EXPECT_EQ(std::ranges::adjacent_find(sums), sums.end());
}

TEST(Digits, EveryTenHoldEachDigitOnceInDifferingOrder) {
  const Dataset train = make_digits(5, 100, 1).train;
  int in_order = 0;
  for (std::size_t ten = 0; ten < 10; ++ten) {
    std::array<int, 10> digits{};
    std::ranges::copy(train.labels().subspan(10 * ten, 10), digits.begin());
    in_order += std::ranges::is_sorted(digits) ? 1 : 0;
    std::ranges::sort(digits);
    EXPECT_EQ(digits, (std::array<int, 10>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  }
  EXPECT_EQ(in_order, 0);
}

TEST(Digits, EveryPictureHasInkOnDarkGround) {
  const Dataset train = make_digits(0, 2000, 1).train;
  for (std::size_t i = 0; i < train.size(); ++i) {
    const auto picture = train.bytes().subspan(i * kDigitPixels, kDigitPixels);
    const auto inked = std::ranges::count_if(picture, [](auto byte) { return byte > 100; });
    ASSERT_GT(inked, 10) << "example " << i << ", a " << train.labels()[i];
    ASSERT_LT(inked, 350) << "example " << i << ", a " << train.labels()[i];
  }
}

TEST(Digits, EmptySetsAreAllowed) {
  const DataSplit split = make_digits(0, 0, 0);
  const Dataset& train = split.train;
  const Dataset& test = split.test;
  EXPECT_TRUE(train.empty());
  EXPECT_TRUE(test.empty());
}

TEST(DigitGlyphs, StrokesHavePointsInTheBox) {
  for (int digit = 0; digit < 10; ++digit) {
    EXPECT_GE(digit_glyphs(digit).size(), 3U) << digit;
    for (const Glyph& glyph : digit_glyphs(digit)) {
      for (const Stroke& stroke : glyph) {
        EXPECT_GE(stroke.size(), 3U) << digit;
        for (const Knot& knot : stroke) {
          EXPECT_TRUE(knot.x >= 0 && knot.x < 1 && knot.y >= 0 && knot.y < 1) << digit;
        }
      }
    }
  }
  // "28,06 20,34 16,58! 50,58 86,54 / 70,10 67,52 64,98"
  const Glyph& four = digit_glyphs(4)[0];
  ASSERT_EQ(four.size(), 2U);
  ASSERT_EQ(four[0].size(), 5U);
  EXPECT_EQ(four[1].size(), 3U);
  EXPECT_EQ(four[0][1].x, 0.20F);
  EXPECT_EQ(four[0][1].y, 0.34F);
  EXPECT_TRUE(four[0][2].corner);
  EXPECT_FALSE(four[0][1].corner);
}

/// What a canvas should show of one segment, by the definition.
float ink_at(std::size_t row, std::size_t column, const PenPoint& from, const PenPoint& to,
             const Ink& ink) {
  const double x = static_cast<double>(column) + 0.5;
  const double y = static_cast<double>(row) + 0.5;
  double nearest = 1e9;
  constexpr int kSteps = 2000;
  for (int step = 0; step <= kSteps; ++step) {
    const double t = static_cast<double>(step) / kSteps;
    nearest = std::min(nearest, std::hypot(x - (from.x + t * (to.x - from.x)),
                                           y - (from.y + t * (to.y - from.y))));
  }
  const double distance = nearest - 0.5 * (from.radius + to.radius);
  const double u = std::clamp(0.5 - distance / ink.softness, 0.0, 1.0);
  return static_cast<float>(ink.peak * u * u * (3 - 2 * u));
}

TEST(DigitCanvas, DrawsByDistanceToTheSegment) {
  const Ink ink{1.7F, 201.0F};
  const std::array<std::array<PenPoint, 2>, 5> segments = {{
      {PenPoint{5.3F, 6.1F, 1.5F}, PenPoint{20.7F, 17.9F, 0.5F}},
      {PenPoint{14, 3, 1}, PenPoint{14, 25, 1}},
      {PenPoint{9.5F, 9.5F, 2}, PenPoint{9.5F, 9.5F, 2}},
      {PenPoint{-6, 10, 1.5F}, PenPoint{40, 12, 1.5F}},
      {PenPoint{27.9F, 27.9F, 0.6F}, PenPoint{31, 35, 0.6F}},
  }};
  for (const auto& [from, to] : segments) {
    DigitCanvas canvas;
    canvas.draw(from, to);
    std::array<float, kDigitPixels> picture;
    canvas.develop(ink, picture);
    for (std::size_t i = 0; i < kDigitPixels; ++i) {
      EXPECT_NEAR(picture[i], ink_at(i / kDigitSide, i % kDigitSide, from, to, ink), 0.05F)
          << "pixel " << i << " of the segment from " << from.x << ", " << from.y;
    }
  }
}

TEST(DigitCanvas, FarOutsideDrawsNothing) {
  DigitCanvas canvas;
  canvas.draw({-1e9F, 5, 1}, {-1e9F, 9, 1});
  canvas.draw({5, 1e30F, 1}, {5, 1e30F, 1});
  std::array<float, kDigitPixels> picture;
  canvas.develop({2.0F, 255.0F}, picture);
  EXPECT_EQ(std::ranges::count(picture, 0.0F), static_cast<std::ptrdiff_t>(kDigitPixels));
}

}  // namespace
}  // namespace octet::test::digits_test
