#include <octet/core/kernels/gemm.h>
#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/random.h>
#include <octet/tests/core/kernels/kernel_testing.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace octet::test::gemm_f32_test {
namespace {

struct Case {
  Index m, n, k;
  Transpose a = Transpose::no;
  Transpose b = Transpose::no;
  bool accumulate = false;
  /// Elements between the end of a row and the start of the next one.
  Index gap = 0;
};

/// The operands of one product, and c before it. Gaps hold NaN, so that reading one shows.
struct Operands {
  explicit Operands(const Case& c) : shape(c) {
    a = matrix(c.a == Transpose::no ? c.m : c.k, c.a == Transpose::no ? c.k : c.m, 1, a_stride);
    b = matrix(c.b == Transpose::no ? c.k : c.n, c.b == Transpose::no ? c.n : c.k, 2, b_stride);
    result = matrix(c.m, c.n, 3, c_stride);
  }

  std::vector<float> matrix(Index rows, Index columns, std::uint64_t seed, Index& stride) const {
    const Random random(seed);
    stride = columns + shape.gap;
    std::vector<float> values(static_cast<std::size_t>(rows * stride),
                              std::numeric_limits<float>::quiet_NaN());
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < columns; ++j) {
        const auto at = static_cast<std::size_t>(i * stride + j);
        values[at] = 2.0F * random.uniform(at) - 1.0F;
      }
    }
    return values;
  }

  float a_at(Index i, Index k) const {
    return a[static_cast<std::size_t>(shape.a == Transpose::no ? i * a_stride + k
                                                               : k * a_stride + i)];
  }
  float b_at(Index k, Index j) const {
    return b[static_cast<std::size_t>(shape.b == Transpose::no ? k * b_stride + j
                                                               : j * b_stride + k)];
  }

  std::vector<float> naive() const {
    std::vector<float> c = result;
    for (Index i = 0; i < shape.m; ++i) {
      for (Index j = 0; j < shape.n; ++j) {
        float& out = c[static_cast<std::size_t>(i * c_stride + j)];
        float sum = shape.accumulate ? out : 0.0F;
        for (Index k = 0; k < shape.k; ++k) sum = std::fma(a_at(i, k), b_at(k, j), sum);
        out = sum;
      }
    }
    return c;
  }

  std::vector<float> computed() const {
    std::vector<float> c = result;
    gemm_f32(shape.m, shape.n, shape.k, {a.data(), a_stride, shape.a},
             {b.data(), b_stride, shape.b}, c.data(), c_stride, shape.accumulate);
    return c;
  }

  Case shape;
  Index a_stride = 0;
  Index b_stride = 0;
  Index c_stride = 0;
  std::vector<float> a;
  std::vector<float> b;
  std::vector<float> result;
};

void expect_same_bits(const std::vector<float>& found, const std::vector<float>& expected,
                      const Case& c) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(found[i]), std::bit_cast<std::uint32_t>(expected[i]))
        << c.m << "x" << c.n << "x" << c.k << " gap " << c.gap << ", element " << i << ": "
        << found[i] << " instead of " << expected[i];
  }
}

void expect_naive(const Case& c) {
  const Operands operands(c);
  expect_same_bits(operands.computed(), operands.naive(), c);
}

class GemmF32 : public KernelTest {};

TEST_P(GemmF32, EqualsTheNaiveChainOfFmasBitForBit) {
  const Forced forced(GetParam());
  for (const Index m : {1, 2, 5, 6, 7, 8, 9, 17}) {
    for (const Index n : {1, 3, 15, 16, 17, 31, 32, 33, 65}) {
      for (const Index k : {1, 2, 7, 64}) expect_naive({m, n, k});
    }
  }
}

TEST_P(GemmF32, TakesBothTransposesAccumulatesAndHonoursStrides) {
  const Forced forced(GetParam());
  for (const Transpose a : {Transpose::no, Transpose::yes}) {
    for (const Transpose b : {Transpose::no, Transpose::yes}) {
      for (const bool accumulate : {false, true}) {
        for (const Index gap : {0, 3}) {
          expect_naive({13, 37, 21, a, b, accumulate, gap});
          expect_naive({1, 1, 1, a, b, accumulate, gap});
        }
      }
    }
  }
}

TEST_P(GemmF32, ChainsOverDepthBlocks) {
  const Forced forced(GetParam());
  for (const Index k : {287, 288, 289, 577, 700}) {
    expect_naive({3, 19, k});
    expect_naive({3, 19, k, Transpose::yes, Transpose::yes, true, 1});
  }
}

TEST_P(GemmF32, CutsLargeProductsIntoBlocks) {
  const Forced forced(GetParam());
  // Blocks have 256 columns and 512 rows; for k > 288 there are partial sums.
  for (const Index k : {5, 300}) {
    expect_naive({3, 256, k});
    expect_naive({9, 523, k, Transpose::no, Transpose::yes, true, 3});
    expect_naive({512, 17, k, Transpose::no, Transpose::no, true});
    expect_naive({523, 37, k, Transpose::yes, Transpose::no, false, 1});
  }
}

TEST_P(GemmF32, GivesTheSameBitsOnAnyNumberOfThreads) {
  // Large enough for several threads, with few panels and with many.
  for (const Case c : {Case{130, 33, 80}, Case{7, 500, 90, Transpose::yes}, Case{9, 530, 300},
                       Case{300, 10, 120, Transpose::no, Transpose::yes, true, 2}}) {
    const Operands operands(c);
    const std::vector<float> expected = operands.naive();
    for (const int threads : {1, 2, 4}) {
      const Forced forced(GetParam(), threads);
      expect_same_bits(operands.computed(), expected, c);
    }
  }
}

/// A first operand whose row stride is close to a multiple of 4 KiB is copied with padding.
TEST_P(GemmF32, CopiesRowsThatAliasInTheCache) {
  for (const int threads : {1, 3}) {
    const Forced forced(GetParam(), threads);
    for (const Case c :
         {Case{70, 256, 1024}, Case{20, 256, 100, Transpose::no, Transpose::no, false, 924},
          Case{33, 257, 1010}, Case{2, 256, 1020, Transpose::no, Transpose::yes, true, 4}}) {
      const Operands operands(c);
      expect_same_bits(operands.computed(), operands.naive(), c);
    }
  }
}

TEST_P(GemmF32, ReportsEachCompletedBlockOnce) {
  for (const int threads : {1, 3}) {
    const Forced forced(GetParam(), threads);
    for (const Case c : {Case{1, 1, 1}, Case{600, 70, 30}, Case{20, 700, 300}, Case{2, 3, 0}}) {
      const Operands o(c);
      const std::vector<float> expected = o.naive();
      std::vector<float> found = o.result;
      std::vector<float> told(found.size(), std::numeric_limits<float>::quiet_NaN());
      gemm_f32(c.m, c.n, c.k, {o.a.data(), o.a_stride, c.a}, {o.b.data(), o.b_stride, c.b},
               found.data(), o.c_stride, false, [&](const GemmBlock& block) {
                 for (Index i = block.i0; i < block.i1; ++i) {
                   for (Index j = block.j0; j < block.j1; ++j) {
                     const auto at = static_cast<std::size_t>(i * o.c_stride + j);
                     EXPECT_TRUE(std::isnan(told[at]));
                     told[at] = found[at];
                   }
                 }
               });
      expect_same_bits(told, expected, c);
    }
  }
}

TEST_P(GemmF32, WithoutDepthIsZeroOrLeavesC) {
  const Forced forced(GetParam());
  std::vector<float> c = {1, 2, 3, 4, 5, 6, 7, 8};
  gemm_f32(2, 3, 0, {nullptr, 0}, {nullptr, 0}, c.data(), 4, true);
  EXPECT_EQ(c, (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
  gemm_f32(2, 3, 0, {nullptr, 0}, {nullptr, 0}, c.data(), 4, false);
  EXPECT_EQ(c, (std::vector<float>{0, 0, 0, 4, 0, 0, 0, 8}));
}

TEST_P(GemmF32, WithoutRowsOrColumnsTouchesNothing) {
  const Forced forced(GetParam());
  gemm_f32(0, 3, 2, {nullptr, 2}, {nullptr, 3}, nullptr, 3);
  gemm_f32(3, 0, 2, {nullptr, 2}, {nullptr, 0}, nullptr, 0);
}

/// Multiplies a block of rows of a' at a time, as the optimizer does.
std::vector<float> in_blocks(const Operands& o, Index block) {
  const Case& c = o.shape;
  std::vector<float> result = o.result;
  const PackedF32 packed({o.b.data(), o.b_stride, c.b}, c.k, c.n);
  for (Index i = 0; i < c.m; i += block) {
    const float* a = o.a.data() + (c.a == Transpose::no ? i * o.a_stride : i);
    packed.multiply_rows(std::min(block, c.m - i), GemmOperand{a, o.a_stride, c.a},
                         result.data() + i * o.c_stride, o.c_stride);
  }
  return result;
}

TEST_P(GemmF32, PackedOperandGivesTheSameBitsInAnyBlocks) {
  const Forced forced(GetParam());
  for (const Transpose a : {Transpose::no, Transpose::yes}) {
    for (const Transpose b : {Transpose::no, Transpose::yes}) {
      for (const Case c : {Case{1, 1, 1, a, b}, Case{15, 33, 7, a, b, false, 2},
                           Case{57, 65, 300, a, b}, Case{29, 10, 513, a, b, false, 5}}) {
        const Operands operands(c);
        for (const Index block : {Index{1}, Index{14}, Index{56}, c.m}) {
          expect_same_bits(in_blocks(operands, block), operands.naive(), c);
        }
      }
    }
  }
}

TEST_P(GemmF32, WideOperandsArePackedByAnyNumberOfThreads) {
  const Case c{15, 1100, 300, Transpose::yes};
  const Operands operands(c);
  const std::vector<float> expected = operands.naive();
  for (const int threads : {1, 3}) {
    const Forced forced(GetParam(), threads);
    expect_same_bits(in_blocks(operands, 14), expected, c);
  }
}

TEST_P(GemmF32, PrefetchingChangesNothing) {
  const Forced forced(GetParam());
  const std::vector<float> memory(5000, 1.0F);
  const std::span<const float> all(memory);
  const std::span<const float> parts[] = {all.first(1), {}, all, all.subspan(17, 300)};
  for (const Case c : {Case{57, 65, 300, Transpose::yes}, Case{1, 1, 1, Transpose::yes}}) {
    const Operands o(c);
    std::vector<float> result = o.result;
    PackedF32({o.b.data(), o.b_stride}, c.k, c.n)
        .multiply_rows(c.m, GemmOperand{o.a.data(), o.a_stride, c.a}, result.data(), o.c_stride,
                       parts);
    expect_same_bits(result, o.naive(), c);
  }
}

TEST_P(GemmF32, PackedOperandWithoutDepthGivesZeros) {
  const Forced forced(GetParam());
  std::vector<float> c = {1, 2, 3, 4};
  PackedF32({nullptr, 2}, 0, 2).multiply_rows(2, GemmOperand{nullptr, 0}, c.data(), 2);
  EXPECT_EQ(c, std::vector<float>(4, 0.0F));
}

TEST_P(GemmF32, OperandOfCodesEqualsItsRealValues) {
  const Forced forced(GetParam());
  for (const auto& [m, n, k] : {std::array<Index, 3>{1, 1, 1}, {15, 33, 7}, {57, 10, 300}}) {
    std::vector<std::int8_t> codes(static_cast<std::size_t>(m * k));
    for (std::size_t i = 0; i < codes.size(); ++i) {
      codes[i] = static_cast<std::int8_t>(Random(8).bits(i) & 0xFFU);
    }
    Operands reals({m, n, k, Transpose::yes});
    for (std::size_t i = 0; i < codes.size(); ++i) {
      reals.a[i] = 0.013F * static_cast<float>(codes[i] - 7);
    }
    const PackedF32 packed({reals.b.data(), n}, k, n);
    std::vector<float> found(reals.result.size());
    packed.multiply_rows(m, CodeOperand{codes.data(), m, 0.013F, 7}, found.data(), n);
    expect_same_bits(found, reals.naive(), reals.shape);
  }
}

TEST_P(GemmF32, PackedCodesOfAKernelEqualTheirRealValues) {
  // Inputs and units that are no multiple of any block or panel, and more than one of each.
  for (const auto& [m, inputs, units] :
       {std::array<Index, 3>{1, 1, 1}, {3, 33, 7}, {15, 300, 37}, {2, 64, 600}, {13, 5, 130}}) {
    for (const bool per_unit : {false, true}) {
      const Forced forced(GetParam(), 2);
      std::vector<std::int8_t> codes(static_cast<std::size_t>(units * inputs));
      for (std::size_t i = 0; i < codes.size(); ++i) {
        codes[i] = static_cast<std::int8_t>(Random(9).bits(i) & 0xFFU);
      }
      std::vector<float> scales(per_unit ? static_cast<std::size_t>(units) : 1);
      for (std::size_t j = 0; j < scales.size(); ++j) {
        scales[j] = 0.01F + 0.003F * static_cast<float>(j);
      }
      Operands reals({m, inputs, units});
      for (std::size_t i = 0; i < codes.size(); ++i) {
        const float scale = scales[per_unit ? i / static_cast<std::size_t>(inputs) : 0];
        reals.b[i] = static_cast<float>(codes[i]) * scale;
      }
      std::vector<float> found(reals.result.size());
      gemm_f32(m, {reals.a.data(), units}, PackedS8(codes.data(), units, inputs), scales,
               found.data(), inputs);
      expect_same_bits(found, reals.naive(), reals.shape);
    }
  }
}

TEST_P(GemmF32, OfAKernelWithoutUnitsIsZero) {
  const Forced forced(GetParam());
  std::vector<float> c = {1, 2, 3, 4};
  gemm_f32(2, {nullptr, 0}, PackedS8(nullptr, 0, 2), std::array{1.0F}, c.data(), 2);
  EXPECT_EQ(c, std::vector<float>(4, 0.0F));
}

TEST_P(GemmF32, PropagatesNanAndInfinity) {
  const Forced forced(GetParam());
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> a = {inf, 1.0F, 0.0F, 2.0F};
  const std::vector<float> b = {1.0F, 0.0F, -1.0F, 5.0F};
  std::vector<float> c(4);
  gemm_f32(2, 2, 2, {a.data(), 2}, {b.data(), 2}, c.data(), 2);
  EXPECT_EQ(c[0], inf);
  EXPECT_TRUE(std::isnan(c[1]));
  EXPECT_EQ(c[2], -2.0F);
  EXPECT_EQ(c[3], 10.0F);
}

INSTANTIATE_TEST_SUITE_P(Isa, GemmF32, ::testing::ValuesIn(available_kernels()), isa_name);

}  // namespace
}  // namespace octet::test::gemm_f32_test
