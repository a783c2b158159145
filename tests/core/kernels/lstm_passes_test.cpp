// The loops of an LSTM on integers, on each code path, beside the formulas of TFLite Micro.

#include <octet/core/quant/fixed_point.h>
#include <octet/tests/core/kernels/passes_testing.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace octet::test::lstm_passes_test {
namespace {

class LstmPassesTest : public PathPassesTest {};

std::int32_t saturated(std::int64_t x) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(x, -32768, 32767));
}

constexpr auto rescaled = multiply_by_quantized_multiplier_double;

TEST_P(LstmPassesTest, GatesAreSaturatedSums) {
  for (const std::size_t size : kSizes) {
    std::vector<std::int32_t> x(size);
    std::vector<std::int32_t> h(size);
    for (std::size_t i = 0; i < size; ++i) {
      x[i] = static_cast<std::int32_t>(Random(1).bits(i)) >> (i % 20);
      h[i] = static_cast<std::int32_t>(Random(2).bits(i)) >> (i % 23);
    }
    for (const int shift : {-20, -9, -1, 0, 3}) {
      const QuantizedMultiplier of_x{1500000001, shift};
      const QuantizedMultiplier of_h{1 << 30, shift - 1};
      std::vector<std::int16_t> gates(size);
      passes().lstm_gates(x.data(), h.data(), size, of_x, of_h, gates.data());
      for (std::size_t i = 0; i < size; ++i) {
        ASSERT_EQ(gates[i],
                  saturated(saturated(rescaled(x[i], of_x)) + saturated(rescaled(h[i], of_h))))
            << x[i] << " and " << h[i] << ", shift " << shift;
      }
    }
  }
}

/// Points that rise as those of the sigmoid do.
std::array<std::int32_t, 256> points() {
  std::array<std::int32_t, 256> all{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    all.at(i) =
        static_cast<std::int32_t>(65536.0 / (1.0 + std::exp(-static_cast<double>(i) / 24.0)));
  }
  return all;
}

/// LOGISTIC and TANH of int16: v = round(q factor / 2^shift) lies on the line between two points.
std::int32_t naive_function(std::int32_t q, const SigmoidNumbers& by, bool is_tanh) {
  const std::int64_t half = by.shift == 0 ? 0 : std::int64_t{1} << (by.shift - 1);
  const std::int64_t v = (std::int64_t{q} * by.factor + half) >> by.shift;
  const std::int64_t magnitude = std::abs(v);
  const int bits = is_tanh ? 8 : 9;
  const auto u = static_cast<std::size_t>(magnitude >> bits);
  const std::int64_t place = magnitude & ((1 << bits) - 1);
  if (is_tanh) {
    const std::int64_t line =
        u >= 255 ? std::int64_t{0xFFFF} << 8
                 : (std::int64_t{by.points[u]} << 8) + place * (by.points[u + 1] - by.points[u]);
    const std::int64_t r = v >= 0 ? line - (1 << 23) + 128 : -line + (1 << 23) + 127;
    return static_cast<std::int32_t>(r >> 8);
  }
  const std::int64_t line =
      u >= 255 ? std::int64_t{0x7FFF} << 10
               : (std::int64_t{by.points[u]} << 9) + place * (by.points[u + 1] - by.points[u]);
  const std::int64_t r = v >= 0 ? line + 512 : (1 << 25) - line + 511;
  return static_cast<std::int32_t>(r >> 10);
}

std::vector<std::int16_t> drawn_16(std::size_t count, std::uint64_t seed) {
  std::vector<std::int16_t> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i] = static_cast<std::int16_t>(static_cast<std::int16_t>(Random(seed).bits(i)) >> (i % 5));
  }
  all[0] = -32768;
  return all;
}

TEST_P(LstmPassesTest, CellsFollowTheirFormulas) {
  const auto curve = points();
  const SigmoidNumbers gate{curve.data(), 3, 0};
  const QuantizedMultiplier kept{1 << 30, -14};
  const QuantizedMultiplier added{1 << 30, -18};
  const QuantizedMultiplier hidden{1200000000, -21};
  for (const std::size_t n : kSizes) {
    for (const SigmoidNumbers of_cell :
         {SigmoidNumbers{curve.data(), 6, 0}, SigmoidNumbers{curve.data(), 20000, 13}}) {
      for (const std::int32_t clip : {32768, 1000}) {
        const std::vector<std::int16_t> sums = drawn_16(4 * n, 5);
        const std::vector<std::int16_t> before = drawn_16(n, 6);
        std::vector<std::int16_t> gates = sums;
        std::vector<std::int16_t> cell = before;
        std::vector<std::int16_t> bent(n);
        std::vector<std::int32_t> result(n);
        passes().lstm_cells({n, gates.data(), cell.data(), bent.data(), result.data(), gate,
                             of_cell, kept, added, hidden, clip});
        for (std::size_t i = 0; i < n; ++i) {
          std::array<std::int32_t, 4> is{};
          for (std::size_t g = 0; g < 4; ++g)
            is.at(g) = naive_function(sums[g * n + i], gate, g == 2);
          for (std::size_t g = 0; g < 4; ++g) ASSERT_EQ(gates[g * n + i], is.at(g)) << g;
          const std::int32_t next = saturated(saturated(rescaled(is[1] * before[i], kept)) +
                                              saturated(rescaled(is[0] * is[2], added)));
          ASSERT_EQ(cell[i], std::clamp(next, -clip, clip)) << i << " of " << n;
          ASSERT_EQ(bent[i], naive_function(cell[i], of_cell, true)) << i << " of " << n;
          ASSERT_EQ(result[i], rescaled(is[3] * bent[i], hidden)) << i << " of " << n;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, LstmPassesTest, ::testing::ValuesIn(available_kernels()), isa_name);

}  // namespace
}  // namespace octet::test::lstm_passes_test
