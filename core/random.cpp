#include <octet/core/parallel.h>
#include <octet/core/random.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace octet {
namespace {

constexpr std::uint32_t kMultiplier0 = 0xD2511F53U;
constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57U;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9U;
constexpr std::uint32_t kWeyl1 = 0xBB67AE85U;
constexpr int kRounds = 10;

constexpr std::uint32_t low(std::uint64_t v) { return static_cast<std::uint32_t>(v); }
constexpr std::uint32_t high(std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); }

float to_unit(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1.0p-24F; }

/// Writes words 0 to 3 of so many blocks, each word in an array of C: GCC vectorizes loops over
/// them, unless they are so short that it unrolls them.
template <std::size_t blocks>
struct Philox {
  std::uint32_t words[4][blocks];

  Philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
    auto& [a, b, c, d] = words;
    for (std::size_t l = 0; l < blocks; ++l) {
      a[l] = low(counter + l);
      b[l] = high(counter + l);
      c[l] = low(stream);
      d[l] = high(stream);
    }
    std::uint32_t key0 = low(seed);
    std::uint32_t key1 = high(seed);
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t l = 0; l < blocks; ++l) {
        const std::uint64_t p0 = std::uint64_t{kMultiplier0} * a[l];
        const std::uint64_t p1 = std::uint64_t{kMultiplier1} * c[l];
        a[l] = high(p1) ^ b[l] ^ key0;
        b[l] = low(p1);
        c[l] = high(p0) ^ d[l] ^ key1;
        d[l] = low(p0);
      }
      key0 += kWeyl0;
      key1 += kWeyl1;
    }
  }
};

}  // namespace

std::array<std::uint32_t, 4> Random::block(std::uint64_t counter) const {
  const Philox<1> one(seed_, stream_, counter);
  return {one.words[0][0], one.words[1][0], one.words[2][0], one.words[3][0]};
}

void Random::uniforms(std::uint64_t first, std::span<float> out) const {
  constexpr std::size_t kBlocks = 32;
  std::uint64_t counter = first / 4;
  std::size_t skipped = first % 4;
  for (std::size_t at = 0; at < out.size(); counter += kBlocks) {
    const Philox<kBlocks> many(seed_, stream_, counter);
    std::array<float, 4 * kBlocks> numbers{};
    for (std::size_t l = 0; l < kBlocks; ++l) {
      for (std::size_t w = 0; w < 4; ++w) numbers[4 * l + w] = to_unit(many.words[w][l]);
    }
    const std::size_t count = std::min(out.size() - at, numbers.size() - skipped);
    std::copy_n(numbers.data() + skipped, count, out.data() + at);
    at += count;
    skipped = 0;
  }
}

Random Random::fork(std::uint64_t key) const {
  const auto x = Random(seed_, stream_ ^ 0x6A09E667F3BCC908ULL).block(key);
  return Random(seed_, (std::uint64_t{x[0]} << 32) | x[1]);
}

float Random::uniform(std::uint64_t i) const { return to_unit(bits(i)); }

float Random::normal(std::uint64_t i) const {
  const auto x = block(i);
  // 1 - u keeps the logarithm's argument in (0, 1].
  const double u = 1.0 - double{to_unit(x[0])};
  const auto v = double{to_unit(x[1])};
  return static_cast<float>(std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v));
}

std::uint32_t Random::below(std::uint64_t i, std::uint32_t bound) const {
  return high(std::uint64_t{bits(i)} * bound);
}

void Random::fill_uniform(std::span<float> out, float lo, float hi) const {
  parallel_for(out.size(), parallel_grain(Work::draw_uniforms),
               [&](std::size_t begin, std::size_t end) {
                 const std::span<float> part = out.subspan(begin, end - begin);
                 uniforms(begin, part);
                 for (float& value : part) value = lo + (hi - lo) * value;
               });
}

void Random::fill_normal(std::span<float> out, float mean, float stddev) const {
  parallel_for(out.size(), parallel_grain(Work::draw_normals),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) out[i] = mean + stddev * normal(i);
               });
}

std::vector<std::uint32_t> Random::permutation(std::size_t count) const {
  std::vector<std::uint32_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<std::uint32_t>(i);
  for (std::size_t i = count; i > 1; --i) {
    std::swap(order[i - 1], order[below(i, static_cast<std::uint32_t>(i))]);
  }
  return order;
}

}  // namespace octet
