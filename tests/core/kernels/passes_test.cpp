#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/quant/fixed_point.h>
#include <octet/tests/core/kernels/passes_testing.h>

#include <algorithm>
#include <atomic>

namespace octet::test::passes_test {
namespace {

std::vector<std::int32_t> sums(std::size_t count) {
  std::vector<std::int32_t> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    result[i] = static_cast<std::int32_t>(Random(4).bits(i)) >> (i % 20);
  }
  return result;
}

std::int8_t naive_code(double quotient, const CodeGrid& grid, bool even) {
  if (std::isnan(quotient)) quotient = 0.0;
  const double rounded = even ? std::nearbyint(quotient) : std::round(quotient);
  return static_cast<std::int8_t>(std::clamp(
      rounded + grid.zero_point, static_cast<double>(grid.qmin), static_cast<double>(grid.qmax)));
}

class PassesTest : public PathPassesTest {};

TEST_P(PassesTest, BytesBecomeExactQuotients) {
  std::vector<std::uint8_t> bytes(256);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
  for (const std::size_t size : {std::size_t{256}, std::size_t{13}}) {
    std::vector<float> out(size);
    passes().bytes_to_unit(bytes.data(), size, out.data());
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(out[i], static_cast<float>(i) / 255.0F);
  }
}

TEST_P(PassesTest, QuantizeRoundsAndClampsAndDequantizeInverts) {
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

/// Numbers of steps that multiplication by 1 / scale rounds like a division, except that one in
/// `ties_every` is a tie or as close to one as floats get.
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

TEST_P(PassesTest, ReciprocalsGiveTheCodesOfTheDivision) {
  const Forced forced(GetParam());
  // Whole blocks without a tie and with one, and scales with unusable or barely usable reciprocals.
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

TEST_P(PassesTest, RequantizePerTensorAndPerChannel) {
  // The last two as in a layer with a ReLU: no code is below that of 0.
  for (const CodeGrid grid : {CodeGrid{1.0F, 5, -100, 120}, CodeGrid{1.0F, -128, -128, 127},
                              CodeGrid{1.0F, -3, -3, 90}}) {
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
}

TEST_P(PassesTest, AddCodesIsASumThatIsRoundedDown) {
  // The last at the ends of what int32 holds.
  for (const CodeSum sum : {CodeSum{1100000, 700001, -5, 21}, CodeSum{1 << 20, 1 << 21, 0, 20},
                            CodeSum{1 << 21, 1 << 21, 1 << 30, 30}}) {
    for (const CodeGrid grid : {CodeGrid{1.0F, 5, -100, 120}, CodeGrid{1.0F, -128, -128, 127}}) {
      for (const std::size_t size : kSizes) {
        const Random random(size);
        std::vector<std::int8_t> first(size);
        std::vector<std::int8_t> second(size);
        for (std::size_t i = 0; i < size; ++i) {
          first[i] = static_cast<std::int8_t>(static_cast<int>(random.below(2 * i, 256)) - 128);
          second[i] =
              static_cast<std::int8_t>(static_cast<int>(random.below(2 * i + 1, 256)) - 128);
        }
        std::vector<std::int8_t> found(size);
        passes().add_codes(first.data(), second.data(), size, sum, grid, found.data());
        for (std::size_t i = 0; i < size; ++i) {
          const std::int64_t whole = std::int64_t{sum.start} +
                                     std::int64_t{first[i]} * sum.first_factor +
                                     std::int64_t{second[i]} * sum.second_factor;
          const double code =
              std::floor(std::ldexp(static_cast<double>(whole), -sum.shift)) + grid.zero_point;
          EXPECT_EQ(found[i], std::clamp<double>(code, grid.qmin, grid.qmax));
        }
      }
    }
  }
}

TEST_P(PassesTest, FixedPointFactorsFollowTheirContracts) {
  const CodeGrid grid{1.0F, -7, -120, 111};
  const Random random(3);
  std::vector<std::int32_t> acc = {0, 1, -1, std::numeric_limits<std::int32_t>::max(),
                                   std::numeric_limits<std::int32_t>::min()};
  for (std::size_t i = 0; i < 300; ++i) {
    const auto sum = static_cast<std::int32_t>(random.bits(i) & 0xFFFFFFFFU);
    acc.push_back(sum >> (i % 29));
  }
  // Gives ties for every shift: 2^30 is a half or a whole power of two.
  for (int bit = 0; bit < 31; ++bit) {
    acc.push_back((1 << bit) + (bit > 0 ? 1 << (bit - 1) : 0));
    acc.push_back(-acc.back());
  }
  for (const std::int32_t multiplier : {0, 1 << 30, 1500000001, 2147483647}) {
    for (const int shift : {-31, -30, -17, -9, -8, -2, -1, 0, 1, 2, 15, 30, 31, 32, 33, 100}) {
      const QuantizedMultiplier factor{multiplier, shift};
      std::vector<std::int8_t> once(acc.size());
      std::vector<std::int8_t> twice(acc.size());
      // Single rounding does not allow larger shifts.
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
  // Factors below, at and above 1, where scaled sums exceed int32.
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

/// Contract fp32, row by row, as documented at SoftmaxInt8.
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

TEST_P(PassesTest, SoftmaxOfRowsEqualsThatOfEachRow) {
  const Random random(8);
  // Whole vectors of codes, single ones, and more than the loop buffers at a time; and rows whose
  // results are half a code.
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

TEST_P(PassesTest, SumsBecomeClampedRealValues) {
  for (const std::size_t size : kSizes) {
    const std::vector<std::int32_t> acc = sums(size);
    const std::vector<float> scales = values(size, 8);
    std::vector<float> real(size);
    passes().real_sums(acc.data(), size, scales.data(), -900.0F, 6e5F, real.data());
    for (std::size_t i = 0; i < size; ++i) {
      EXPECT_EQ(real[i], std::clamp(static_cast<float>(acc[i]) * scales[i], -900.0F, 6e5F));
    }
    passes().scaled_sums(acc.data(), size, 0.3F, real.data());
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(real[i], static_cast<float>(acc[i]) * 0.3F);
  }
}

TEST_P(PassesTest, CodesAreShiftedAndWidened) {
  std::vector<std::int8_t> codes(256);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<std::int8_t>(static_cast<int>(i) - 128);
  }
  // Whole blocks, less than a block, and a last block that overlaps the one before.
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

TEST_P(PassesTest, PackedKernelsEqualTheirPackedCodes) {
  const Forced forced(GetParam(), 3);
  for (const auto& [k, n] : {std::pair<Index, Index>{1, 1},
                             {5, 33},
                             {785, 64},
                             {7, 100},
                             {37, 300},
                             {9, 257},
                             {9, 2048}}) {
    for (const auto& [per_column, plain] :
         {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
      // With and without ties, infinities and NaN, which some paths handle separately.
      const auto size = static_cast<std::size_t>(k * n);
      const float step = plain ? 0.0131F : 0.05F;
      const std::vector<float> x = plain ? values(size, 5) : awkward(size, step);
      std::vector<float> scales(per_column ? static_cast<std::size_t>(n) : 1, step);
      for (std::size_t j = 1; j < scales.size(); ++j) scales[j] *= static_cast<float>(1 + j % 7);
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
      std::vector<std::int8_t> columns(rows.size());
      for (Index at = 0; at < n * k; ++at) {
        columns[static_cast<std::size_t>(at % k * n + at / k)] = rows[static_cast<std::size_t>(at)];
      }
      const PackedS8 transposed = packed.transposed();
      const PackedS8 expected(columns.data(), k, n);
      EXPECT_EQ(transposed.unpack(), columns);
      EXPECT_TRUE(std::ranges::equal(transposed.row_sums(), expected.row_sums()));
      EXPECT_TRUE(std::ranges::equal(transposed.row_magnitudes(), expected.row_magnitudes()));
      // With the zeros behind the last rows and codes, which are parts of products.
      const Index panels = divided_up(k, GetParam()->s8_cols) * GetParam()->s8_cols;
      const Index bytes = panels * expected.padded_depth() * GetParam()->s8_w_bytes;
      EXPECT_TRUE(std::equal(transposed.data(), transposed.data() + bytes, expected.data()));
      std::atomic<Index> computed = 0;
      const PackedS8 of_rows = PackedS8::quantize(
          [&, row = n](Index begin, Index end, float* memory) -> const float* {
            computed += end - begin;
            if (begin > 0) return x.data() + begin * row;
            std::copy(x.begin(), x.begin() + end * row, memory);
            return memory;
          },
          k, n, scales, -127, 127);
      EXPECT_EQ(computed, k);
      EXPECT_EQ(of_rows.unpack(), rows);
      EXPECT_TRUE(std::ranges::equal(of_rows.row_sums(), packed.row_sums()));
      EXPECT_TRUE(std::ranges::equal(of_rows.row_magnitudes(), packed.row_magnitudes()));
    }
  }
}

TEST_P(PassesTest, FindsTheExtremesOfBytes) {
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
}  // namespace octet::test::passes_test
