#if defined(__x86_64__)
#include <immintrin.h>
#endif
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
/// Fits the second-level cache and no first-level one: a little more than the example's weights.
constexpr std::size_t kBytes = 300'032;
constexpr int kTimes = 2000;

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Run>
double best_rate(double work, Run run) {
  double best = 0.0;
  for (int round = 0; round < kRounds; ++round) {
    // Time of this thread alone: other work on the machine must not lower the peak.
    const double begin = thread_seconds();
    run();
    best = std::max(best, work / (thread_seconds() - begin));
  }
  return best;
}

#if defined(__AVX512F__)
using Floats = __m512;
Floats multiply_add(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
#elif defined(__FMA__)
using Floats = __m256;
Floats multiply_add(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
#else
/// Four floats on any processor.
using Floats = float __attribute__((vector_size(16)));
Floats multiply_add(Floats a, Floats b, Floats c) { return a * b + c; }
#endif

#if defined(__x86_64__)
/// Keeps the compiler from working out what a chain comes to.
template <class Vector>
void keep(Vector& value) {
  asm volatile("" : "+v"(value));
}
#else
template <class Vector>
void keep(Vector& value) {
  asm volatile("" : "+w"(value));
}
#endif

/// Operations a second of chains of `step(a, b, sum)`, each of `operations`.
template <class Vector, class Step>
double chain_rate(double operations, Step step) {
  return best_rate(operations * kSteps * kChains, [step] {
    Vector sums[kChains] = {};
#pragma GCC unroll 32
    for (Vector& sum : sums) keep(sum);
    Vector a = {};
    Vector b = {};
    keep(a);
    keep(b);
    for (long i = 0; i < kSteps; ++i) {
#pragma GCC unroll 32
      for (Vector& sum : sums) step(a, b, sum);
    }
#pragma GCC unroll 32
    for (Vector& sum : sums) keep(sum);
  });
}

double float_peak() {
  return chain_rate<Floats>(
      2.0 * sizeof(Floats) / sizeof(float),
      [](const Floats& a, const Floats& b, Floats& sum) { sum = multiply_add(a, b, sum); });
}

double int8_peak() {
#if defined(__AVX512VNNI__)
  return chain_rate<__m512i>(2.0 * sizeof(__m512i),
                             [](const __m512i& a, const __m512i& b, __m512i& sum) {
                               // By hand: GCC 12 copies the registers of the intrinsic around.
                               asm volatile("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
                             });
#else
  return 0.0;
#endif
}

double read_peak() {
  constexpr std::size_t kSums = 8;
  constexpr std::size_t kCount = kBytes / sizeof(Floats) / kSums * kSums;
  static Floats from[kCount];
  // Written once, so that it is memory of its own and not the system's one page of zeros.
  for (Floats& value : from) keep(value);
  return best_rate(static_cast<double>(sizeof from) * kTimes, [] {
    Floats sums[kSums] = {};
    for (int i = 0; i < kTimes; ++i) {
      for (std::size_t at = 0; at < kCount; at += kSums) {
#pragma GCC unroll 8
        for (std::size_t j = 0; j < kSums; ++j) sums[j] = sums[j] + from[at + j];
      }
      asm volatile("" : : "r"(from) : "memory");
    }
    for (Floats& sum : sums) keep(sum);
  });
}

double copy_peak() {
  const std::vector<char> from(kBytes, 1);
  std::vector<char> to(kBytes);
  return best_rate(static_cast<double>(kBytes) * kTimes, [&] {
    for (int i = 0; i < kTimes; ++i) {
      std::memcpy(to.data(), from.data(), kBytes);
      asm volatile("" : : "r"(to.data()) : "memory");
    }
  });
}

}  // namespace

const Peak& peak() {
  static const Peak measured{float_peak(), int8_peak(), read_peak(), copy_peak()};
  return measured;
}

}  // namespace octet::bench
