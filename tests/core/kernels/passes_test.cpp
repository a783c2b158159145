#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/quant/fixed_point.h>
#include <octet/core/random.h>
#include <octet/tests/core/kernels/kernel_testing.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace octet::testing {
namespace {

// Off every vector's width.
constexpr std::size_t kSizes[] = {1, 7, 16, 33, 100, 259};

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> values(std::size_t count, std::uint64_t seed) {
  std::vector<float> result(count);
  Random(seed).fill_uniform(result, -3.0F, 3.0F);
  return result;
}

/// The same with values that are easily got wrong: ties, ends, NaN, infinities.
std::vector<float> awkward(std::size_t count, float step) {
  std::vector<float> result = values(count, 9);
  const std::vector<float> corners = {0.5F * step, -0.5F * step, 1.5F * step, -2.5F * step, 1e30F,
                                      -kInfinity,  kInfinity,    NAN,         -0.0F};
  for (std::size_t i = 0; i < count; i += 3) result[i] = corners[i / 3 % corners.size()];
  return result;
}

std::vector<std::int32_t> sums(std::size_t count) {
  std::vector<std::int32_t> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    result[i] = static_cast<std::int32_t>(Random(4).bits(i)) >> (i % 20);
  }
  return result;
}

/// Element for element, NaN equal to NaN and -0 apart from 0.
template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

std::int8_t naive_code(double quotient, const CodeGrid& grid, bool even) {
  if (std::isnan(quotient)) quotient = 0.0;
  const double rounded = even ? std::nearbyint(quotient) : std::round(quotient);
  return static_cast<std::int8_t>(std::clamp(
      rounded + grid.zero_point, static_cast<double>(grid.qmin), static_cast<double>(grid.qmax)));
}

class PassesTest : public KernelTest {
 protected:
  const Passes& passes() const { return GetParam()->passes; }
};

TEST_P(PassesTest, BytesBecomeExactQuotients) {
  std::vector<std::uint8_t> bytes(256);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
  for (const std::size_t size : {std::size_t{256}, std::size_t{13}}) {
    std::vector<float> out(size);
    passes().bytes_to_unit(bytes.data(), size, out.data());
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(out[i], static_cast<float>(i) / 255.0F);
  }
}

TEST_P(PassesTest, QuantizeRoundsClampsAndComesBack) {
  for (const CodeGrid grid : {CodeGrid{0.25F, -3, -128, 127}, CodeGrid{0.1F, 0, -7, 7}}) {
    for (const std::size_t size : kSizes) {
      const std::vector<float> x = awkward(size, grid.scale);
      std::vector<std::int8_t> even(size);
      std::vector<std::int8_t> away(size);
      std::vector<float> back(size);
      passes().quantize_even(x.data(), size, grid, even.data());
      passes().quantize_away(x.data(), size, grid, away.data());
      passes().dequantize(away.data(), size, grid.scale, grid.zero_point, back.data());
      for (std::size_t i = 0; i < size; ++i) {
        const auto quotient = static_cast<double>(x[i] / grid.scale);
        EXPECT_EQ(even[i], naive_code(quotient, grid, true)) << x[i];
        EXPECT_EQ(away[i], naive_code(quotient, grid, false)) << x[i];
        EXPECT_EQ(back[i], grid.scale * static_cast<float>(away[i] - grid.zero_point));
      }
    }
  }
}

/// Numbers of steps that a product with 1 / scale rounds as a division does, but for one in
/// `ties_every` that is a tie or as close to one as floats get.
std::vector<float> near_codes(std::size_t count, float scale, std::size_t ties_every) {
  const Random random(6);
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double code = static_cast<double>(random.bits(3 * i) % 300) - 150.0;
    const bool tie = i % ties_every == ties_every / 2;
    const double beside =
        tie ? 0.5 : 0.998 * static_cast<double>(random.uniform(3 * i + 1)) - 0.499;
    x[i] = static_cast<float>((code + beside) * static_cast<double>(scale));
    if (tie && i % 3 > 0) x[i] = std::nextafter(x[i], i % 3 == 1 ? kInfinity : -kInfinity);
  }
  return x;
}

TEST_P(PassesTest, CodesAreThoseOfTheDivisionWhereAProductTakesItsPlace) {
  const Forced forced(GetParam());
  // Whole blocks without a tie, with one, and scales whose reciprocals are no use or nearly so.
  for (const float scale :
       {0.0123F, 1.0F / 255.0F, 0.999F, 1e-30F, 1.1e-30F, 1e-39F, 1e-45F, 9e29F, 1e30F, 2e35F}) {
    for (const std::size_t ties_every : {std::size_t{100'000}, std::size_t{64}, std::size_t{777}}) {
      const std::vector<float> x = near_codes(64 * 150 + 5, scale, ties_every);
      std::vector<std::int8_t> even(x.size());
      std::vector<std::int8_t> away(x.size());
      const CodeGrid grid{scale, 5, -128, 127};
      passes().quantize_even(x.data(), x.size(), grid, even.data());
      passes().quantize_away(x.data(), x.size(), grid, away.data());
      const auto size = static_cast<Index>(x.size());
      const PackedS8 packed = PackedS8::quantize(x.data(), size / 64, 64, {&scale, 1}, -127, 127);
      const std::vector<std::int8_t> rows = packed.unpack();
      for (std::size_t i = 0; i < x.size(); ++i) {
        const auto quotient = static_cast<double>(x[i] / scale);
        ASSERT_EQ(even[i], naive_code(quotient, grid, true)) << x[i] << " / " << scale;
        ASSERT_EQ(away[i], naive_code(quotient, grid, false)) << x[i] << " / " << scale;
        const std::size_t place = i % 64 * (x.size() / 64) + i / 64;
        if (i / 64 * 64 + 64 > x.size()) continue;
        ASSERT_EQ(rows[place], naive_code(quotient, {scale, 0, -127, 127}, false))
            << x[i] << " / " << scale;
      }
    }
  }
}

TEST_P(PassesTest, RequantizeByOneFactorAndByOneEach) {
  const CodeGrid grid{1.0F, 5, -100, 120};
  for (const std::size_t size : kSizes) {
    const std::vector<std::int32_t> acc = sums(size);
    std::vector<float> factors = values(size, 3);
    for (float& factor : factors) factor = std::abs(factor) * 1e-4F;
    std::vector<std::int8_t> one(size);
    std::vector<std::int8_t> each(size);
    passes().requantize(acc.data(), size, 2.5e-4F, grid, one.data());
    passes().requantize_each(acc.data(), size, factors.data(), grid, each.data());
    for (std::size_t i = 0; i < size; ++i) {
      const auto sum = static_cast<float>(acc[i]);
      EXPECT_EQ(one[i], naive_code(static_cast<double>(sum * 2.5e-4F), grid, true));
      EXPECT_EQ(each[i], naive_code(static_cast<double>(sum * factors[i]), grid, true));
    }
  }
}

TEST_P(PassesTest, FixedPointFactorsRoundAsTheirContractsSay) {
  const CodeGrid grid{1.0F, -7, -120, 111};
  const Random random(3);
  std::vector<std::int32_t> acc = {0, 1, -1, std::numeric_limits<std::int32_t>::max(),
                                   std::numeric_limits<std::int32_t>::min()};
  for (std::size_t i = 0; i < 300; ++i) {
    const auto sum = static_cast<std::int32_t>(random.bits(i) & 0xFFFFFFFFU);
    acc.push_back(sum >> (i % 29));
  }
  // Ties of every shift with it: 2^30 is a half or a whole power of two.
  for (int bit = 0; bit < 31; ++bit) {
    acc.push_back((1 << bit) + (bit > 0 ? 1 << (bit - 1) : 0));
    acc.push_back(-acc.back());
  }
  for (const std::int32_t multiplier : {0, 1 << 30, 1500000001, 2147483647}) {
    for (const int shift : {-31, -30, -17, -9, -8, -2, -1, 0, 1, 2, 15, 30, 31, 32, 33, 100}) {
      const QuantizedMultiplier factor{multiplier, shift};
      std::vector<std::int8_t> once(acc.size());
      std::vector<std::int8_t> twice(acc.size());
      // Larger shifts are none of the single rounding's.
      const bool single = shift <= 30;
      if (single) passes().requantize_single(acc.data(), acc.size(), factor, grid, once.data());
      passes().requantize_double(acc.data(), acc.size(), factor, grid, twice.data());
      for (std::size_t i = 0; i < acc.size(); ++i) {
        const auto code = [&](std::int32_t number) {
          return std::clamp<std::int64_t>(std::int64_t{number} - 7, -120, 111);
        };
        ASSERT_EQ(once[i],
                  single ? code(multiply_by_quantized_multiplier_single(acc[i], factor)) : 0)
            << acc[i] << " * " << multiplier << " shift " << shift;
        ASSERT_EQ(twice[i], code(multiply_by_quantized_multiplier_double(acc[i], factor)))
            << acc[i] << " * " << multiplier << " shift " << shift;
      }
    }
  }
}

TEST_P(PassesTest, RequantizeSaturatesSumsFarBeyondTheCodes) {
  // Factors up to, at and above 1, with which a scaled sum leaves int32.
  for (const float factor : {1e-9F, 0.99999994F, 1.0F, 3.5F, 1e30F}) {
    for (const CodeGrid grid : {CodeGrid{1.0F, -128, -128, 127}, CodeGrid{1.0F, 127, -90, 91}}) {
      std::vector<std::int32_t> acc(77);
      for (std::size_t i = 0; i < acc.size(); ++i) {
        acc[i] = i % 4 == 0   ? std::numeric_limits<std::int32_t>::max()
                 : i % 4 == 1 ? std::numeric_limits<std::int32_t>::min()
                              : static_cast<std::int32_t>(i) - 40;
      }
      const std::vector<float> factors(acc.size(), factor);
      std::vector<std::int8_t> one(acc.size());
      std::vector<std::int8_t> each(acc.size());
      passes().requantize(acc.data(), acc.size(), factor, grid, one.data());
      passes().requantize_each(acc.data(), acc.size(), factors.data(), grid, each.data());
      for (std::size_t i = 0; i < acc.size(); ++i) {
        const float scaled = static_cast<float>(acc[i]) * factor;
        EXPECT_EQ(one[i], naive_code(static_cast<double>(scaled), grid, true)) << scaled;
      }
      EXPECT_EQ(each, one);
    }
  }
}

/// Contract fp32, row by row as SoftmaxInt8 states it.
std::vector<std::int8_t> naive_softmax(const std::vector<std::int8_t>& codes, std::size_t row,
                                       const std::vector<float>& exps) {
  std::vector<std::int8_t> result;
  for (auto begin = codes.begin(); begin != codes.end();
       begin += static_cast<std::ptrdiff_t>(row)) {
    const auto end = begin + static_cast<std::ptrdiff_t>(row);
    const int largest = *std::max_element(begin, end);
    const auto exp = [&](int code) { return exps[static_cast<std::size_t>(largest - code)]; };
    float sum = 0.0F;
    for (auto code = begin; code != end; ++code) sum += exp(*code);
    const float inverse = 1.0F / (sum / 256.0F);
    for (auto code = begin; code != end; ++code) {
      result.push_back(
          static_cast<std::int8_t>(std::min(std::round(exp(*code) * inverse) - 128.0F, 127.0F)));
    }
  }
  return result;
}

TEST_P(PassesTest, SoftmaxOfRowsIsThatOfEach) {
  const Random random(8);
  // Whole vectors of codes, single ones, and more than what is kept at a time; and rows that leave
  // half a code.
  for (const std::size_t row : {1U, 2U, 9U, 10U, 16U, 17U, 100U, 512U, 513U, 1300U}) {
    for (const bool halves : {false, true}) {
      std::vector<float> exps(256);
      for (std::size_t d = 0; d < exps.size(); ++d) {
        exps[d] = halves ? 0.0F : std::exp(-0.07F * static_cast<float>(d));
      }
      std::vector<std::int8_t> codes(row * (row < 50 ? 61 : 3));
      for (std::size_t i = 0; i < codes.size(); ++i) {
        codes[i] = static_cast<std::int8_t>(random.bits(i) % (halves ? 40 : 256));
      }
      if (halves) {
        exps[0] = 511.0F / 512.0F;
        exps[1] = 1.0F / 512.0F;
        for (std::size_t i = 0; i < codes.size(); i += row) {
          codes[i + row / 2] = 50;
          if (row > 1) codes[i] = 49;
        }
      }
      const std::vector<std::int8_t> expected = naive_softmax(codes, row, exps);
      std::vector<std::int8_t> out(codes.size());
      passes().softmax_codes(codes.data(), codes.size() / row, row, exps.data(), out.data());
      EXPECT_EQ(out, expected) << row;
      passes().softmax_codes(codes.data(), codes.size() / row, row, exps.data(), codes.data());
      EXPECT_EQ(codes, expected) << row << " in place";
    }
  }
}

TEST_P(PassesTest, SumsBecomeClampedReals) {
  for (const std::size_t size : kSizes) {
    const std::vector<std::int32_t> acc = sums(size);
    const std::vector<float> worth = values(size, 8);
    std::vector<float> real(size);
    passes().real_sums(acc.data(), size, worth.data(), -900.0F, 6e5F, real.data());
    for (std::size_t i = 0; i < size; ++i) {
      EXPECT_EQ(real[i], std::clamp(static_cast<float>(acc[i]) * worth[i], -900.0F, 6e5F));
    }
  }
}

TEST_P(PassesTest, CodesAreShiftedAndWidened) {
  std::vector<std::int8_t> codes(256);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<std::int8_t>(static_cast<int>(i) - 128);
  }
  // Whole blocks, less than one, and a last one that overlaps the one before.
  for (const std::size_t size : {std::size_t{256}, std::size_t{45}, std::size_t{150}}) {
    std::vector<std::uint8_t> shifted(size);
    std::vector<std::int16_t> wide(size);
    passes().shift_codes(codes.data(), size, 128, shifted.data());
    passes().widen_codes(codes.data(), size, wide.data());
    for (std::size_t i = 0; i < size; ++i) {
      EXPECT_EQ(shifted[i], codes[i] + 128);
      EXPECT_EQ(wide[i], codes[i]);
    }
  }
}

TEST_P(PassesTest, GradientsPassInsideTheWindowOnly) {
  for (const std::size_t size : kSizes) {
    std::vector<float> x = awkward(size, 1.0F);
    x[0] = 2.0F;  // an end that is inside
    const std::vector<float> g = values(size, 2);
    std::vector<float> out(size);
    passes().window_gradient(x.data(), g.data(), size, {-2.0F, 2.0F, -0.5F, kInfinity}, out.data());
    for (std::size_t i = 0; i < size; ++i) {
      EXPECT_EQ(out[i], x[i] > -0.5F && x[i] <= 2.0F ? g[i] : 0.0F) << x[i];
    }
  }
}

TEST_P(PassesTest, ColumnsAreMaskedByTheirOwnLimits) {
  for (const std::size_t columns : kSizes) {
    const std::vector<float> x = awkward(3 * columns, 1.0F);
    std::vector<float> lo = values(columns, 5);
    std::vector<float> hi(columns, 1.5F);
    lo[0] = -0.5F;
    std::vector<float> g = values(x.size(), 6);
    const std::vector<float> before = g;
    passes().mask_columns(x.data(), 3, columns, lo.data(), hi.data(), g.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t j = i % columns;
      EXPECT_EQ(g[i], x[i] >= lo[j] && x[i] <= hi[j] ? before[i] : 0.0F);
    }
  }
}

TEST_P(PassesTest, TotalsOfColumnsAreDoubles) {
  for (const std::size_t size : kSizes) {
    const std::vector<float> x = values(size, 3);
    std::vector<double> totals(size, 1e-12);
    passes().add_to_totals(x.data(), size, totals.data());
    for (std::size_t i = 0; i < size; ++i) {
      EXPECT_EQ(totals[i], 1e-12 + static_cast<double>(x[i]));
    }
  }
}

TEST_P(PassesTest, AllPathsComputeTheSameBits) {
  const Passes& plain = detail::kPortableKernels.passes;
  const AdamStep step{0.9F, 0.999F, 0.01F, 1e-5F, 1e-3F, 31.6F, 1e-7F};
  for (const std::size_t size : kSizes) {
    const std::vector<float> g = values(size, 1);
    std::vector<float> w[2] = {values(size, 2), values(size, 2)};
    std::vector<float> m[2] = {values(size, 3), values(size, 3)};
    std::vector<float> v[2] = {std::vector<float>(size, 0.3F), std::vector<float>(size, 0.3F)};
    plain.adam(w[0].data(), m[0].data(), v[0].data(), g.data(), size, step);
    passes().adam(w[1].data(), m[1].data(), v[1].data(), g.data(), size, step);
    EXPECT_TRUE(same_bytes(w[0], w[1]) && same_bytes(m[0], m[1]) && same_bytes(v[0], v[1]));

    // Both zeros are least, and which of them is told must not depend on the path.
    std::vector<float> zeros(size, 0.0F);
    for (std::size_t i = 0; i < size; i += 2) zeros[i] = -0.0F;
    std::vector<float> least(2);
    std::vector<float> largest(2);
    bool finite[2];
    plain.min_max(zeros.data(), size, least.data(), largest.data(), finite);
    passes().min_max(zeros.data(), size, least.data() + 1, largest.data() + 1, finite + 1);
    for (const auto& ends : {least, largest})
      EXPECT_EQ(std::signbit(ends[0]), std::signbit(ends[1]));
    EXPECT_EQ(least[0], least[1]);
    EXPECT_EQ(largest[0], largest[1]);
    EXPECT_TRUE(finite[0] && finite[1]);
  }
}

TEST_P(PassesTest, AdamFollowsItsFormula) {
  const AdamStep step{0.9F, 0.999F, 0.0F, 0.0F, 1e-3F, 2.0F, 1e-7F};
  std::vector<float> w = {1.0F};
  std::vector<float> m = {0.5F};
  std::vector<float> v = {0.04F};
  const std::vector<float> g = {-2.0F};
  passes().adam(w.data(), m.data(), v.data(), g.data(), 1, step);
  const double mean = 0.9 * 0.5 - 0.1 * 2.0;
  const double square = 0.999 * 0.04 + 0.001 * 4.0;
  EXPECT_NEAR(m[0], mean, 1e-6);
  EXPECT_NEAR(v[0], square, 1e-6);
  EXPECT_NEAR(w[0], 1.0 - 1e-3 * mean / (std::sqrt(square) * 2.0 + 1e-7), 1e-6);
}

TEST_P(PassesTest, AdamsMeansDecayToZeroAndNoSubnormal) {
  const AdamStep step{0.9F, 0.999F, 0.0F, 0.0F, 1e-3F, 1.0F, 1e-7F};
  std::vector<float> w(33, 1.0F);
  std::vector<float> m(33, 1.3e-38F);
  std::vector<float> v(33, 1.176e-38F);
  const std::vector<float> g(33, 0.0F);
  for (int i = 0; i < 3; ++i) passes().adam(w.data(), m.data(), v.data(), g.data(), 33, step);
  EXPECT_EQ(m, g);
  EXPECT_EQ(v, g);
}

TEST_P(PassesTest, AdamLeavesOutWhatWouldBeSubnormal) {
  AdamStep step{0.9F, 0.999F, 0.0F, 0.0F, 1e-3F, 1.0F, 1e-7F};
  step.least_slope = 1e-10F;
  step.least_mean = 1e-30F;
  // Off every vector's width; slopes below and above the bound in turn, then means.
  std::vector<float> g(35, 0.0F);
  std::vector<float> m(35, 0.0F);
  std::vector<float> v(35, 1e-22F);
  std::vector<float> w(35, 0.0F);
  for (std::size_t i = 0; i < 16; ++i) g[i] = i % 2 == 0 ? -0.9e-10F : -1.1e-10F;
  for (std::size_t i = 16; i < 35; ++i) m[i] = i % 2 == 0 ? 1e-30F : 1.2e-30F;
  passes().adam(w.data(), m.data(), v.data(), g.data(), 35, step);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(v[i] > 0.999F * 1e-22F, i % 2 == 1) << i;
    EXPECT_GT(w[i], 0.0F) << i;
  }
  for (std::size_t i = 16; i < 35; ++i) {
    EXPECT_GT(m[i], 0.8e-30F) << i;
    EXPECT_EQ(w[i] < 0.0F, i % 2 == 1) << i;
  }
}

TEST_P(PassesTest, MaskedGradientsAreSummedByColumn) {
  const GradientWindow window{-1.0F, 2.0F, -0.5F, kInfinity};
  for (const std::size_t columns : {1U, 7U, 64U, 65U}) {
    const std::size_t rows = 5;
    const std::size_t stride = columns + 3;
    const std::vector<float> x = awkward(rows * stride, 1.0F);
    const std::vector<float> g = values(rows * stride, 8);
    std::vector<float> out(rows * stride, 7.0F);
    std::vector<double> sums(columns, 0.25);
    passes().window_gradient_sums(x.data(), g.data(), rows, columns, stride, window, out.data(),
                                  sums.data());
    for (std::size_t j = 0; j < stride; ++j) {
      double sum = 0.25;
      for (std::size_t i = 0; i < rows; ++i) {
        const float at = x[i * stride + j];
        const float expected = at > -0.5F && at <= 2.0F ? g[i * stride + j] : 0.0F;
        EXPECT_EQ(out[i * stride + j], j < columns ? expected : 7.0F);
        sum += static_cast<double>(expected);
      }
      if (j < columns) {
        EXPECT_EQ(sums[j], sum);
      }
    }
  }
}

TEST_P(PassesTest, KernelsArePackedAsTheirCodesWouldBe) {
  const Forced forced(GetParam(), 2);
  for (const auto& [k, n] : {std::pair<Index, Index>{1, 1}, {5, 33}, {785, 64}, {7, 100}}) {
    for (const auto& [per_column, plain] :
         {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
      // With and without ties, infinities and NaN, of which some paths take other ways.
      const auto size = static_cast<std::size_t>(k * n);
      const float step = plain ? 0.0131F : 0.05F;
      const std::vector<float> x = plain ? values(size, 5) : awkward(size, step);
      std::vector<float> scales(per_column ? static_cast<std::size_t>(n) : 1, step);
      if (per_column) scales.back() = 0.3F;
      const PackedS8 packed = PackedS8::quantize(x.data(), k, n, scales, -127, 127);
      std::vector<std::int8_t> rows;
      for (Index j = 0; j < n; ++j) {
        const float scale = scales[per_column ? static_cast<std::size_t>(j) : 0];
        std::int32_t sum = 0;
        std::int32_t magnitude = 0;
        for (Index i = 0; i < k; ++i) {
          const float quotient = x[static_cast<std::size_t>(i * n + j)] / scale;
          rows.push_back(naive_code(static_cast<double>(quotient), {scale, 0, -127, 127}, false));
          sum += rows.back();
          magnitude += std::abs(std::int32_t{rows.back()});
        }
        EXPECT_EQ(packed.row_sums()[static_cast<std::size_t>(j)], sum);
        EXPECT_EQ(packed.row_magnitudes()[static_cast<std::size_t>(j)], magnitude);
      }
      EXPECT_EQ(packed.unpack(), rows);
      const auto cols = static_cast<Index>(GetParam()->f32_cols);
      for (Index k0 = 0; k0 < k; k0 += cols) {
        std::vector<float> panel(static_cast<std::size_t>(n * cols), -1.0F);
        packed.pack_reals(0, n, k0, scales, panel.data());
        for (Index at = 0; at < n * cols; ++at) {
          const auto j = static_cast<std::size_t>(at / cols);
          const Index i = k0 + at % cols;
          const float code = i < k ? rows[static_cast<std::size_t>(at / cols * k + i)] : 0.0F;
          ASSERT_EQ(panel[static_cast<std::size_t>(at)], code * scales[per_column ? j : 0]);
        }
      }
      EXPECT_EQ(PackedS8(rows.data(), n, k).unpack(), rows);
    }
  }
}

TEST_P(PassesTest, BytesHaveTheirLimits) {
  for (const std::size_t size : kSizes) {
    std::vector<std::uint8_t> bytes(size);
    for (std::size_t i = 0; i < size; ++i) {
      bytes[i] = static_cast<std::uint8_t>(40 + Random(6).bits(i) % 100);
    }
    for (const std::size_t place : {std::size_t{0}, size / 2, size - 1}) {
      std::vector<std::uint8_t> x = bytes;
      x[place] = 3;
      x[size - 1 - place] = std::max<std::uint8_t>(x[size - 1 - place], size > 1 ? 250 : 3);
      std::uint8_t least = 0;
      std::uint8_t largest = 0;
      passes().min_max_bytes(x.data(), size, &least, &largest);
      EXPECT_EQ(least, *std::ranges::min_element(x));
      EXPECT_EQ(largest, *std::ranges::max_element(x));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, PassesTest, ::testing::ValuesIn(available_kernels()), isa_name);

}  // namespace
}  // namespace octet::testing
