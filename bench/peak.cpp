#include <immintrin.h>
#include <octet/bench/peak.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <vector>

namespace octet::bench {
namespace {

constexpr int kRounds = 7;
constexpr long kSteps = 2'000'000;
/// Enough chains to hide the latency of any unit.
constexpr int kChains = 20;

template <class Run>
double best_rate(double work, Run run) {
  double best = 0.0;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, work / seconds.count());
  }
  return best;
}

/// Keeps the compiler from working out what a chain comes to.
template <class Vector>
void keep(Vector& value) {
  asm volatile("" : "+v"(value));
}

#if defined(__AVX512F__)
using Floats = __m512;
Floats multiply_add(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
#elif defined(__FMA__)
using Floats = __m256;
Floats multiply_add(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
#else
using Floats = __m128;
Floats multiply_add(Floats a, Floats b, Floats c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
#endif

double float_peak() {
  constexpr double kWork = 2.0 * kSteps * kChains * (sizeof(Floats) / sizeof(float));
  return best_rate(kWork, [] {
    Floats sums[kChains] = {};
    Floats a = {};
    Floats b = {};
    keep(a);
    keep(b);
    for (long i = 0; i < kSteps; ++i) {
      for (Floats& sum : sums) sum = multiply_add(a, b, sum);
    }
    for (Floats& sum : sums) keep(sum);
  });
}

double int8_peak() {
#if defined(__AVX512VNNI__)
  return best_rate(2.0 * kSteps * kChains * 64, [] {
    __m512i sums[kChains] = {};
    __m512i a = {};
    __m512i b = {};
    keep(a);
    keep(b);
    for (long i = 0; i < kSteps; ++i) {
      for (__m512i& sum : sums) sum = _mm512_dpbusd_epi32(sum, a, b);
    }
    for (__m512i& sum : sums) keep(sum);
  });
#else
  return 0.0;
#endif
}

double copy_peak() {
  constexpr std::size_t kBytes = 300'000;
  constexpr int kTimes = 2000;
  std::vector<char> from(kBytes, 1);
  std::vector<char> to(kBytes);
  return best_rate(double{kBytes} * kTimes, [&] {
    for (int i = 0; i < kTimes; ++i) {
      std::memcpy(to.data(), from.data(), kBytes);
      asm volatile("" : : "r"(to.data()) : "memory");
    }
  });
}

}  // namespace

const Peak& peak() {
  static const Peak measured{float_peak(), int8_peak(), copy_peak()};
  return measured;
}

}  // namespace octet::bench
