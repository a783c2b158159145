#include <gtest/gtest.h>
#include <octet/core/kernels/prefetch.h>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace octet::test::prefetch_test {
namespace {

/// Whether a tile of this depth prefetches from `memory` only, up to one line beyond its end.
bool stays_within(const TilePrefetch& range, Index depth, std::span<const float> memory) {
  if (range.at == nullptr) return true;
  const auto* first = reinterpret_cast<const std::byte*>(memory.data());
  const auto bytes = static_cast<std::ptrdiff_t>(memory.size_bytes());
  for (Index k = 0; k < depth; ++k) {
    const std::ptrdiff_t begin = range.at - first + k * range.step;
    if (begin < 0 || begin + range.stride > bytes + 64) return false;
  }
  return true;
}

/// How much of a part consecutive ranges without a stride have covered, from its first byte on.
class Coverage {
 public:
  explicit Coverage(std::span<const float> part)
      : next_(reinterpret_cast<const std::byte*>(part.data())), end_(next_ + part.size_bytes()) {}

  /// Extends the coverage if the range starts in the part and leaves no gap after the one before.
  void add(const TilePrefetch& range, Index depth) {
    if (range.at <= next_ && range.at + range.step * depth > next_ && range.at < end_) {
      next_ = range.at + range.step * depth;
    }
  }
  bool is_complete() const { return next_ >= end_; }

 private:
  const std::byte* next_;
  const std::byte* end_;
};

TEST(PartsPrefetcher, RangesCoverEachPartWithoutGaps) {
  const std::vector<float> memory(std::size_t{1} << 16);
  for (const Index depth : {17, 32, 128}) {
    for (const Index tiles : {7, 32}) {
      const auto size = static_cast<std::size_t>(tiles * depth / 4 * 16);
      const std::span<const float> all(memory);
      const std::array parts = {all.subspan(2 * size, size), all.first(0), all.first(size)};
      detail::PartsPrefetcher prefetcher(parts, tiles);
      Coverage first(parts[0]);
      Coverage last(parts[2]);
      for (Index tile = 0; tile < tiles; ++tile) {
        const TilePrefetch range = prefetcher.next(depth);
        if (range.at == nullptr) break;
        EXPECT_LE(range.step, 64);
        first.is_complete() ? last.add(range, depth) : first.add(range, depth);
      }
      EXPECT_TRUE(first.is_complete()) << depth << ", " << tiles;
      EXPECT_TRUE(last.is_complete()) << depth << ", " << tiles;
    }
  }
}

TEST(PartsPrefetcher, FetchesNothingThatIsTooMuchForTheTiles) {
  const std::vector<float> memory(std::size_t{1} << 18);
  const std::array small = {std::span(memory).first(1000)};
  const std::array large = {std::span(memory)};
  EXPECT_NE(detail::PartsPrefetcher(small, 10).next(8).at, nullptr);
  EXPECT_EQ(detail::PartsPrefetcher(small, 1).next(8).at, nullptr);
  EXPECT_EQ(detail::PartsPrefetcher(large, 1 << 20).next(8).at, nullptr);
  EXPECT_EQ(detail::PartsPrefetcher({}, 10).next(8).at, nullptr);
}

TEST(PanelPrefetcher, HandsOutEveryRowOnceAndStaysWithinThem) {
  constexpr Index kStride = 256;
  constexpr Index kRows = 21;
  const std::vector<float> memory(static_cast<std::size_t>(kStride * kRows));
  for (const Index floats : {32, 100}) {
    for (const Index depth : {3, 30}) {
      detail::PanelPrefetcher prefetcher(memory.data(), kStride, kRows, floats);
      const std::byte* row = reinterpret_cast<const std::byte*>(memory.data());
      for (Index left = kRows; left > 0;) {
        // Rows of two cache lines are taken all at once if there is a k for each.
        const bool all_at_once = floats == 32 && left <= depth;
        const Index taken = all_at_once ? left : 2;
        const TilePrefetch range = prefetcher.next(depth);
        EXPECT_EQ(range.at, row);
        EXPECT_TRUE(stays_within(range, all_at_once ? taken : depth, memory));
        row += taken * kStride * static_cast<Index>(sizeof(float));
        left -= taken;
      }
      EXPECT_EQ(prefetcher.next(depth).at, nullptr);
    }
  }
  EXPECT_EQ(detail::PanelPrefetcher().next(30).at, nullptr);
}

}  // namespace
}  // namespace octet::test::prefetch_test
