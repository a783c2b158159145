#include <gtest/gtest.h>
#include <octet/core/kernels/soon_lines.h>

#include <array>
#include <cstddef>
#include <set>
#include <span>
#include <vector>

namespace octet::testing {
namespace {

using Lines = std::set<std::ptrdiff_t>;

/// Adds the cache lines of `memory`, counted from its first, that a tile of this depth fetches.
void add_fetched(const SoonLines& soon, Index depth, std::span<const float> memory, Lines& lines) {
  if (soon.at == nullptr) return;
  const auto* first = reinterpret_cast<const std::byte*>(memory.data());
  for (Index k = 0; k < depth; ++k) {
    lines.insert((soon.at - first + k * soon.step) / 64);
    lines.insert((soon.at - first + k * soon.step + soon.apart) / 64);
  }
}

bool has_all(const Lines& lines, std::ptrdiff_t first, std::ptrdiff_t last) {
  for (std::ptrdiff_t line = first; line <= last; ++line) {
    if (!lines.contains(line)) return false;
  }
  return true;
}

class SoonLinesTest : public ::testing::Test {
 protected:
  SoonLinesTest() : memory_(std::size_t{1} << 18), all_(memory_.data(), memory_.size()) {}

  std::vector<float> memory_;
  std::span<const float> all_;
};

TEST_F(SoonLinesTest, TilesFetchAllParts) {
  for (const Index depth : {17, 32, 128}) {
    for (const Index tiles : {7, 32}) {
      // Three parts of about half a line for every k, of which the second is empty.
      const auto size = static_cast<std::size_t>(tiles * depth / 4 * 16);
      const std::array parts = {all_.first(size), all_.first(0), all_.subspan(4 * size, size)};
      detail::SoonParts soon(parts, tiles);
      Lines lines;
      for (Index i = 0; i < tiles; ++i) add_fetched(soon.next(depth), depth, all_, lines);
      const auto part_lines = static_cast<std::ptrdiff_t>(size / 16);
      EXPECT_TRUE(has_all(lines, 0, part_lines - 2)) << depth << ", " << tiles;
      EXPECT_TRUE(has_all(lines, 4 * part_lines, 5 * part_lines - 2)) << depth << ", " << tiles;
    }
  }
}

TEST_F(SoonLinesTest, PartsThatAreTooManyAreLeft) {
  const std::array small = {all_.first(1000)};
  EXPECT_NE(detail::SoonParts(small, 10).next(8).at, nullptr);
  EXPECT_EQ(detail::SoonParts(small, 1).next(8).at, nullptr);
  const std::array large = {all_};
  EXPECT_EQ(detail::SoonParts(large, 1 << 20).next(8).at, nullptr);
  EXPECT_EQ(detail::SoonParts({}, 10).next(8).at, nullptr);
}

TEST_F(SoonLinesTest, OneTileFetchesANarrowPanel) {
  constexpr Index kStride = 256;
  detail::SoonPanel soon(memory_.data(), kStride, 20, 32);
  Lines lines;
  add_fetched(soon.next(20), 20, all_, lines);
  for (std::ptrdiff_t row = 0; row < 20; ++row) EXPECT_TRUE(has_all(lines, row * 16, row * 16 + 1));
  EXPECT_EQ(lines.size(), 40U);
  EXPECT_EQ(soon.next(20).at, nullptr);
}

TEST_F(SoonLinesTest, TilesOfLittleDepthFetchAllRowsOfANarrowPanel) {
  detail::SoonPanel soon(memory_.data(), 256, 20, 32);
  Lines lines;
  for (int i = 0; i < 10; ++i) add_fetched(soon.next(3), 3, all_, lines);
  for (std::ptrdiff_t row = 0; row < 20; ++row) EXPECT_TRUE(has_all(lines, row * 16, row * 16 + 1));
}

TEST_F(SoonLinesTest, TilesFetchTwoRowsEachOfAWidePanel) {
  constexpr Index kStride = 256;
  detail::SoonPanel soon(memory_.data(), kStride, 5, 100);
  Lines lines;
  for (int i = 0; i < 3; ++i) add_fetched(soon.next(30), 30, all_, lines);
  for (std::ptrdiff_t row = 0; row < 5; ++row) EXPECT_TRUE(has_all(lines, row * 16, row * 16 + 6));
  // Nothing of a sixth row.
  EXPECT_LT(*lines.rbegin(), 5 * 16);
  EXPECT_EQ(soon.next(30).at, nullptr);
  EXPECT_EQ(detail::SoonPanel().next(30).at, nullptr);
}

}  // namespace
}  // namespace octet::testing
