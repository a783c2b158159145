#include <octet/core/random.h>
#include <octet/tests/core/ops/op_testing.h>

#include <algorithm>
#include <set>

namespace octet::test::random_test {
namespace {

using namespace testing;
using Block = std::array<std::uint32_t, 4>;

constexpr std::uint64_t kOnes = ~std::uint64_t{0};

TEST(Random, KnownAnswersOfPhilox4x32) {
  // From the authors' Random123: counter and key all zeros, all ones, and digits of pi.
  EXPECT_EQ(Random(0, 0).block(0), (Block{0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U}));
  EXPECT_EQ(Random(kOnes, kOnes).block(kOnes),
            (Block{0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU}));
  EXPECT_EQ(Random(0x299f31d0a4093822ULL, 0x0370734413198a2eULL).block(0x85a308d3243f6a88ULL),
            (Block{0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U}));
}

TEST(Random, BitsAreTheWordsOfTheBlocksInOrder) {
  const Random random(7, 9);
  for (std::uint64_t i = 0; i < 20; ++i) EXPECT_EQ(random.bits(i), random.block(i / 4)[i % 4]);
}

TEST(Random, FillsAreTheIndexedNumbersOnAnyNumberOfThreads) {
  const Random random(3);
  constexpr Index kCount = 100003;
  expect_same_on_any_threads([&] {
    return std::vector<Tensor>{Tensor::uniform({kCount}, random, -2, 3),
                               Tensor::normal({kCount}, random, 1, 0.5F)};
  });
  const Tensor uniform = Tensor::uniform({kCount}, random, -2, 3);
  const Tensor normal = Tensor::normal({kCount}, random, 1, 0.5F);
  for (const Index i : {Index{0}, Index{16384}, Index{50001}, kCount - 1}) {
    const auto k = static_cast<std::uint64_t>(i);
    EXPECT_EQ(uniform.at({i}), -2.0F + 5.0F * random.uniform(k));
    EXPECT_EQ(normal.at({i}), 1.0F + 0.5F * random.normal(k));
  }
}

TEST(Random, ManyUniformNumbersAreTheSingleOnes) {
  const Random random(7, 9);
  // From within a block, from within the vectors of blocks, and past the lower half of the counter.
  for (const std::uint64_t first : {0UL, 1UL, 3UL, 62UL, (1UL << 34) - 5}) {
    for (const std::size_t size : {0U, 1U, 3U, 63U, 64U, 65U, 200U}) {
      std::vector<float> found(size);
      random.uniforms(first, found);
      for (std::size_t i = 0; i < size; ++i) {
        ASSERT_EQ(found[i], random.uniform(first + i)) << "number " << first + i;
      }
    }
  }
}

TEST(Random, UniformMomentsAndRange) {
  const Tensor x = Tensor::uniform({100000}, Random(1));
  double mean = 0.0;
  double square = 0.0;
  for (const float v : x.span()) {
    ASSERT_GE(v, 0.0F);
    ASSERT_LT(v, 1.0F);
    mean += static_cast<double>(v) / 1e5;
    square += static_cast<double>(v) * static_cast<double>(v) / 1e5;
  }
  EXPECT_NEAR(mean, 0.5, 0.005);
  EXPECT_NEAR(square - mean * mean, 1.0 / 12.0, 0.002);
}

TEST(Random, NormalMoments) {
  const Tensor x = Tensor::normal({100000}, Random(2));
  std::array<double, 4> moments{};
  for (const float v : x.span()) {
    double power = 1.0;
    for (double& moment : moments) moment += (power *= static_cast<double>(v)) / 1e5;
  }
  EXPECT_NEAR(moments[0], 0.0, 0.02);
  EXPECT_NEAR(moments[1], 1.0, 0.03);
  EXPECT_NEAR(moments[2], 0.0, 0.06);
  EXPECT_NEAR(moments[3], 3.0, 0.2);
}

TEST(Random, NormalIsFiniteWhereTheUniformIsZero) {
  // The first block of seed 0 whose first word gives the uniform number 0.
  const Random random(0);
  constexpr std::uint64_t kBlock = 14883995;
  ASSERT_EQ(random.block(kBlock)[0] >> 8, 0U);
  EXPECT_EQ(std::fabs(random.normal(kBlock)), 0.0F);
}

TEST(Random, BelowCoversItsRangeEvenly) {
  const Random random(4);
  std::array<int, 7> counts{};
  for (std::uint64_t i = 0; i < 70000; ++i) ++counts.at(random.below(i, 7));
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
  EXPECT_EQ(random.below(0, 1), 0U);
}

TEST(Random, PermutationHoldsEachNumberOnce) {
  for (const std::size_t count : {0U, 1U, 2U, 7U, 1000U}) {
    std::vector<std::uint32_t> order = Random(5).permutation(count);
    EXPECT_EQ(order, Random(5).permutation(count));
    if (count == 1000) {
      EXPECT_FALSE(std::ranges::is_sorted(order));
      EXPECT_NE(order, Random(6).permutation(count));
    }
    std::ranges::sort(order);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(order[i], i);
  }
}

TEST(Random, PermutationsOfThreeAreEquallyLikely) {
  std::array<int, 27> counts{};
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    const std::vector<std::uint32_t> order = Random(seed).permutation(3);
    ++counts.at(order[0] * 9 + order[1] * 3 + order[2]);
  }
  for (const int count : counts) {
    if (count != 0) {
      EXPECT_NEAR(count, 1000, 150);
    }
  }
  EXPECT_EQ(std::ranges::count(counts, 0), 21);
}

TEST(Random, ForksAndSeedsAreApartAndRepeatable) {
  const Random root(8);
  EXPECT_EQ(root.fork(3).block(5), Random(8).fork(3).block(5));
  std::set<Block> seen = {root.block(0), Random(9).block(0)};
  for (std::uint64_t key = 0; key < 1000; ++key) {
    seen.insert(root.fork(key).block(0));
    seen.insert(root.fork(key).fork(0).block(0));
  }
  EXPECT_EQ(seen.size(), 2002U);
}

TEST(Random, ForkedStreamsAreNotCorrelated) {
  const Random root(10);
  const Random a = root.fork(0);
  const Random b = root.fork(1);
  double product = 0.0;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    product += (static_cast<double>(a.uniform(i)) - 0.5) *
               (static_cast<double>(b.uniform(i)) - 0.5) / 20000.0;
  }
  EXPECT_NEAR(product * 12.0, 0.0, 0.03);
}

}  // namespace
}  // namespace octet::test::random_test
