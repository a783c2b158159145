#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

// The int8 operators of TensorFlow Lite under the three rounding contracts, slowly: a second
// implementation from the formulas, in 64-bit integers and one loop an operator, for tests to hold
// Octet's own against. It includes nothing of Octet.

namespace octet::oracle {

enum class Contract { fp32, single, twice };
enum class Clamp { none, relu, relu6, relu_n1_to_1 };

struct Quant {
  float scale = 1.0F;
  int zero_point = 0;
};

/// m * 2^(shift - 31).
struct Multiplier {
  std::int64_t m = 0;
  int shift = 0;
};

inline constexpr std::int64_t kLeast = std::numeric_limits<std::int32_t>::min();
inline constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

inline std::int64_t pow2(int exponent) { return std::int64_t{1} << exponent; }

inline Multiplier multiplier_of(double factor, Contract contract) {
  int shift = 0;
  std::int64_t m = std::llround(std::frexp(factor, &shift) * 2147483648.0);
  if (m == pow2(31)) {
    m /= 2;
    ++shift;
  }
  if (factor == 0.0 || shift < -31) return {};
  if (contract == Contract::single && shift > 30) return {kMost, 30};
  return {m, shift};
}

/// Saturating rounding doubling high multiplication.
inline std::int64_t srdhm(std::int64_t a, std::int64_t b) {
  if (a == kLeast && b == kLeast) return kMost;
  const std::int64_t ab = a * b;
  return (ab + (ab >= 0 ? pow2(30) : 1 - pow2(30))) / pow2(31);
}

/// Rounding division by 2^e.
inline std::int64_t rdbypot(std::int64_t x, int e) {
  const std::int64_t mask = pow2(e) - 1;
  const std::int64_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  return (x >> e) + ((x & mask) > threshold ? 1 : 0);
}

/// x * factor under `single` and `twice`. A left shift that leaves int32 is undefined upstream;
/// Octet saturates it.
inline std::int64_t rescale(std::int64_t x, Multiplier q, Contract contract) {
  if (contract == Contract::single) {
    return (x * q.m + pow2(30 - q.shift)) >> (31 - q.shift);
  }
  const int left = std::min(std::max(q.shift, 0), 31);
  return rdbypot(srdhm(std::clamp(x * pow2(left), kLeast, kMost), q.m), std::max(-q.shift, 0));
}

/// x brought from one scale to another: by `factor`, or its float32 form under fp32.
inline std::int64_t rescale(std::int64_t x, double factor, float factor_f32, Contract contract) {
  if (contract == Contract::fp32) {
    const float scaled = std::nearbyint(static_cast<float>(x) * factor_f32);
    return static_cast<std::int64_t>(std::clamp(scaled, -1e15F, 1e15F));
  }
  return rescale(x, multiplier_of(factor, contract), contract);
}

struct Limits {
  std::int64_t lo = -128;
  std::int64_t hi = 127;
};

/// XNNPACK's limits, which it rounds with the zero point.
inline Limits limits_to_even(Clamp clamp, Quant out) {
  const auto code = [&](float real) {
    const float exact = std::nearbyint(real / out.scale + static_cast<float>(out.zero_point));
    return static_cast<std::int64_t>(std::clamp(exact, -128.0F, 127.0F));
  };
  switch (clamp) {
    case Clamp::none:
      return {};
    case Clamp::relu:
      return {code(0), 127};
    case Clamp::relu6:
      return {code(0), code(6)};
    case Clamp::relu_n1_to_1:
      return {code(-1), code(1)};
  }
  return {};
}

inline Limits limits_of(Clamp clamp, Quant out, Limits type = {}) {
  const auto code = [&](float real) {
    return out.zero_point + static_cast<std::int64_t>(std::round(real / out.scale));
  };
  if (clamp == Clamp::relu || clamp == Clamp::relu6) type.lo = std::max(type.lo, code(0.0F));
  if (clamp == Clamp::relu6) type.hi = std::min(type.hi, code(6.0F));
  if (clamp == Clamp::relu_n1_to_1) {
    type.lo = std::max(type.lo, code(-1.0F));
    type.hi = std::min(type.hi, code(1.0F));
  }
  return type;
}

struct Dense {
  std::size_t units = 1;
  std::size_t depth = 1;
  std::vector<std::int8_t> weights;  ///< [units, depth]
  std::vector<float> weight_scales;  ///< one, or one per unit
  int weight_zero_point = 0;
  std::vector<std::int32_t> bias;  ///< empty for none
  Quant in;
  Quant out;
  Clamp clamp = Clamp::none;
};

/// FULLY_CONNECTED on rows of codes.
inline std::vector<std::int8_t> dense(const Dense& d, const std::vector<std::int8_t>& x,
                                      Contract contract) {
  const Limits limits =
      contract == Contract::fp32 ? limits_to_even(d.clamp, d.out) : limits_of(d.clamp, d.out);
  std::vector<std::int8_t> y;
  for (std::size_t row = 0; row < x.size() / d.depth; ++row) {
    for (std::size_t u = 0; u < d.units; ++u) {
      std::int64_t acc = d.bias.empty() ? 0 : d.bias[u];
      for (std::size_t i = 0; i < d.depth; ++i) {
        acc += (std::int64_t{x[row * d.depth + i]} - d.in.zero_point) *
               (std::int64_t{d.weights[u * d.depth + i]} - d.weight_zero_point);
      }
      const bool per_channel = d.weight_scales.size() > 1;
      const float w = d.weight_scales[per_channel ? u : 0];
      // Per tensor, the product of the scales is made in float32.
      const float product = d.in.scale * w;
      const double wide = per_channel ? double{d.in.scale} * double{w} : double{product};
      const std::int64_t code =
          rescale(acc, wide / double{d.out.scale}, product / d.out.scale, contract) +
          d.out.zero_point;
      y.push_back(static_cast<std::int8_t>(std::clamp(code, limits.lo, limits.hi)));
    }
  }
  return y;
}

/// RELU, RELU6 and RELU_N1_TO_1 as operators of their own: TensorFlow Lite has one kernel for them,
/// which rounds twice under every contract.
inline std::vector<std::int8_t> activation(Clamp clamp, Quant in, Quant out,
                                           const std::vector<std::int8_t>& x) {
  const Limits limits = limits_of(clamp, out);
  const float factor = in.scale / out.scale;
  std::vector<std::int8_t> y;
  for (const std::int8_t code : x) {
    const std::int64_t moved =
        rescale(std::int64_t{code} - in.zero_point, double{factor}, factor, Contract::twice);
    y.push_back(static_cast<std::int8_t>(std::clamp(moved + out.zero_point, limits.lo, limits.hi)));
  }
  return y;
}

/// x * 2^n in int32, saturated.
inline std::int64_t saturating_shift(std::int64_t x, int n) {
  const std::int64_t threshold = pow2(31 - n) - 1;
  return x > threshold ? kMost : x < -threshold ? kLeast : x * pow2(n);
}

/// exp(a), a <= 0 with 4 or 5 integer bits; the result has none.
inline std::int64_t exp_neg(std::int64_t a, int integer_bits = 5) {
  const int fraction_bits = 31 - integer_bits;
  if (a == 0) return kMost;
  const std::int64_t quarter = pow2(fraction_bits - 2);
  const std::int64_t amod = (a & (quarter - 1)) - quarter;
  const std::int64_t x = saturating_shift(amod, integer_bits) + pow2(28);
  const std::int64_t x2 = srdhm(x, x);
  const std::int64_t x3 = srdhm(x2, x);
  const std::int64_t x4 = srdhm(x2, x2);
  const std::int64_t p = rdbypot(srdhm(rdbypot(x4, 2) + x3, 715827883) + x2, 1);
  std::int64_t y = 1895147668 + srdhm(1895147668, x + p);
  struct Step {
    int k;
    std::int64_t factor;
  };
  const Step steps[] = {{-2, 1672461947}, {-1, 1302514674}, {0, 790015084}, {1, 290630308},
                        {2, 39332535},    {3, 720401},      {4, 242}};
  const std::int64_t rem = amod - a;
  for (const Step step : steps) {
    const bool there = integer_bits > step.k;
    if (there && ((rem >> (fraction_bits + step.k)) & 1) != 0) y = srdhm(y, step.factor);
  }
  return y;
}

/// 2 / (1 + a) with 2 integer bits, a in [0, 1) without.
inline std::int64_t newton(std::int64_t a) {
  const std::int64_t h = (a + kMost + 1) / 2;
  std::int64_t x = 1515870810 + srdhm(h, -1010580540);
  for (int i = 0; i < 3; ++i) x += saturating_shift(srdhm(x, pow2(29) - srdhm(h, x)), 2);
  return x;
}

/// 1 / (1 + a), a in [0, 1) without integer bits.
inline std::int64_t one_over_one_plus(std::int64_t a) { return saturating_shift(newton(a), 1); }

/// One row of SOFTMAX, output scale 1/256 and zero point -128: fixed point.
inline std::vector<std::int8_t> softmax_fixed(const std::vector<std::int8_t>& row, float scale,
                                              float beta, Contract contract) {
  const auto most = static_cast<double>(contract == Contract::single ? pow2(30) - 1 : kMost);
  const Multiplier q =
      multiplier_of(std::min(double{beta} * double{scale} * 67108864.0, most), Contract::twice);
  const std::int64_t diff_min = -((31 * pow2(26)) >> q.shift);
  const std::int64_t max = *std::max_element(row.begin(), row.end());
  std::vector<std::int64_t> exps;
  std::int64_t sum = 0;
  for (const std::int8_t code : row) {
    const std::int64_t d = code - max;
    const bool counts = d >= diff_min;
    exps.push_back(counts ? exp_neg(srdhm(d * pow2(q.shift), q.m)) : -1);
    if (counts) sum += rdbypot(exps.back(), 12);
  }
  int headroom = 0;
  while (sum * pow2(headroom) < pow2(31)) ++headroom;
  const int over = 12 - headroom;
  const std::int64_t r = one_over_one_plus(sum * pow2(headroom) - pow2(31));
  std::vector<std::int8_t> out;
  for (const std::int64_t e : exps) {
    const std::int64_t code = e < 0 ? -128 : rdbypot(srdhm(r, e), over + 31 - 8) - 128;
    out.push_back(static_cast<std::int8_t>(std::min<std::int64_t>(code, 127)));
  }
  return out;
}

/// Softmax by a table of floats, as XNNPACK's runtimes compute it.
inline std::vector<std::int8_t> softmax_float(const std::vector<std::int8_t>& row, float scale,
                                              float beta) {
  const int max = *std::max_element(row.begin(), row.end());
  const auto e = [&](int code) {
    const float exponent = -scale * beta * static_cast<float>(max - code);
    return static_cast<float>(std::exp(double{exponent}));
  };
  float sum = 0.0F;
  for (const std::int8_t code : row) sum += e(code);
  const float inverse = 1.0F / (sum * (1.0F / 256.0F));
  std::vector<std::int8_t> out;
  for (const std::int8_t code : row) {
    const float steps = std::round(e(code) * inverse);
    out.push_back(static_cast<std::int8_t>(std::min(steps - 128.0F, 127.0F)));
  }
  return out;
}

/// SOFTMAX on rows of `depth` codes.
inline std::vector<std::int8_t> softmax(const std::vector<std::int8_t>& x, std::size_t depth,
                                        float scale, float beta, Contract contract) {
  std::vector<std::int8_t> y;
  for (std::size_t begin = 0; begin < x.size(); begin += depth) {
    const auto first = x.begin() + static_cast<std::ptrdiff_t>(begin);
    const std::vector<std::int8_t> row(first, first + static_cast<std::ptrdiff_t>(depth));
    const auto result = contract == Contract::fp32 ? softmax_float(row, scale, beta)
                                                   : softmax_fixed(row, scale, beta, contract);
    y.insert(y.end(), result.begin(), result.end());
  }
  return y;
}

enum class Table { logistic, tanh };

/// One code of LOGISTIC (output scale 1/256, zero point -128) or TANH (1/128, 0) as TFLite Micro's
/// kernel for int8 computes it: 4 integer bits.
inline std::int8_t table_fixed(Table table, int distance, float scale) {
  const Multiplier q = multiplier_of(double{scale} * 134217728.0, Contract::twice);
  const double radius = std::floor(15.0 * 134217728.0 / std::ldexp(1.0, q.shift));
  if (distance <= -radius) return -128;
  if (distance >= radius) return 127;
  const std::int64_t v = rescale(distance, q, Contract::twice);
  const std::int64_t below = v > 0 ? -v : v;
  std::int64_t code = 0;
  if (table == Table::logistic) {
    const std::int64_t r = one_over_one_plus(exp_neg(below, 4));
    code = rdbypot(v == 0 ? pow2(30) : v < 0 ? kMost - r : r, 23) - 128;
  } else {
    const std::int64_t r = saturating_shift(newton(exp_neg(below, 5)) - pow2(29), 2);
    code = rdbypot(v == 0 ? 0 : v < 0 ? -r : r, 24);
  }
  return static_cast<std::int8_t>(std::clamp<std::int64_t>(code, -128, 127));
}

/// A table's entry by a function of floats, as XNNPACK and LiteRT fill their tables.
inline std::int8_t table_float(Table table, int distance, float scale) {
  const auto x = double{scale * static_cast<float>(distance)};
  const bool tanh = table == Table::tanh;
  const auto y = static_cast<float>(tanh ? std::tanh(x) : 1.0 / (1.0 + std::exp(-x)));
  const float code = tanh ? std::nearbyint(y * 128.0F) : std::nearbyint(y * 256.0F) - 128.0F;
  return static_cast<std::int8_t>(std::clamp(code, -128.0F, 127.0F));
}

/// LOGISTIC or TANH.
inline std::vector<std::int8_t> table(Table table, Quant in, const std::vector<std::int8_t>& x,
                                      Contract contract) {
  std::vector<std::int8_t> y;
  for (const std::int8_t code : x) {
    const int distance = code - in.zero_point;
    y.push_back(contract == Contract::twice ? table_fixed(table, distance, in.scale)
                                            : table_float(table, distance, in.scale));
  }
  return y;
}

}  // namespace octet::oracle
