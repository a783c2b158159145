#include <octet/core/kernels/gemm_s16.h>

#include <algorithm>

namespace octet {
namespace {

/// 256 products of 2^15 and 2^7 are at most 2^30.
constexpr Index kProductsInInt32 = 256;
/// Units that are summed side by side, so that a row is read once for all of them.
constexpr int kUnits = 4;

/// The sums of `count` <= kProductsInInt32 products with each of `Units` rows of weights, as loops
/// that compilers turn into an instruction that multiplies and adds pairs of int16.
template <int Units>
void add_sums(const std::int16_t* __restrict x, const std::int16_t* __restrict weights,
              Index stride, Index count, std::int64_t* sums) {
  for (int j = 0; j < Units; ++j) {
    const std::int16_t* w = weights + j * stride;
    std::int32_t sum = 0;
    for (Index k = 0; k < count; ++k) sum += std::int32_t{x[k]} * w[k];
    sums[j] += sum;
  }
}

template <int Units>
void sum_units(Index depth, const std::int16_t* x, const std::int16_t* weights,
               const std::int64_t* start, std::int64_t* sums) {
  std::int64_t total[Units];
  for (int j = 0; j < Units; ++j) total[j] = start[j];
  for (Index k = 0; k < depth; k += kProductsInInt32) {
    add_sums<Units>(x + k, weights + k, depth, std::min(kProductsInInt32, depth - k), total);
  }
  for (int j = 0; j < Units; ++j) sums[j] = total[j];
}

}  // namespace

void gemm_s16(Index rows, Index units, Index depth, const std::int16_t* x,
              const std::int16_t* weights, const std::int64_t* start, std::int64_t* sums) {
  // Weights of a few units stay in the cache for all rows.
  Index j = 0;
  for (; j + kUnits <= units; j += kUnits) {
    for (Index i = 0; i < rows; ++i) {
      sum_units<kUnits>(depth, x + i * depth, weights + j * depth, start + j, sums + i * units + j);
    }
  }
  for (; j < units; ++j) {
    for (Index i = 0; i < rows; ++i) {
      sum_units<1>(depth, x + i * depth, weights + j * depth, start + j, sums + i * units + j);
    }
  }
}

void add_products_s16(Index channels, const std::int16_t* x, const std::int8_t* weights,
                      std::int64_t* sums) {
  for (Index c = 0; c < channels; ++c) sums[c] += std::int32_t{x[c]} * weights[c];
}

}  // namespace octet
