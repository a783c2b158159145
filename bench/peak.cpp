#include <immintrin.h>
#include <octet/bench/peak.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <vector>

namespace octet::bench {
namespace {

constexpr int kRounds = 7;
constexpr long kSteps = 2'000'000;
/// Enough chains to hide the latency of any unit.
constexpr int kChains = 20;

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Run>
double best_rate(double work, Run run) {
  double best = 0.0;
  for (int round = 0; round < kRounds; ++round) {
    // Of this thread alone: other work on the machine must not lower the peak.
    const double begin = thread_seconds();
    run();
    best = std::max(best, work / (thread_seconds() - begin));
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
#pragma GCC unroll 32
    for (Floats& sum : sums) keep(sum);
    Floats a = {};
    Floats b = {};
    keep(a);
    keep(b);
    for (long i = 0; i < kSteps; ++i) {
#pragma GCC unroll 32
      for (Floats& sum : sums) sum = multiply_add(a, b, sum);
    }
#pragma GCC unroll 32
    for (Floats& sum : sums) keep(sum);
  });
}

double int8_peak() {
#if defined(__AVX512VNNI__)
  return best_rate(2.0 * kSteps * kChains * 64, [] {
    __m512i sums[kChains] = {};
#pragma GCC unroll 32
    for (__m512i& sum : sums) keep(sum);
    __m512i a = {};
    __m512i b = {};
    keep(a);
    keep(b);
    for (long i = 0; i < kSteps; ++i) {
#pragma GCC unroll 32
      for (__m512i& sum : sums) {
        // By hand: GCC 12 copies the registers of the intrinsic around.
        asm volatile("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
      }
    }
#pragma GCC unroll 32
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
