#pragma once

#include <octet/core/buffer.h>
#include <octet/core/kernels/gemm_s16.h>
#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/shape.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace octet::detail {

/// Weights [units, depth] that rows of int16 codes are multiplied by.
class Int16Weights {
 public:
  Int16Weights(const std::int8_t* weights, Index units, Index depth)
      : units_(units), depth_(depth) {
    if (suits_int8_product(units, depth)) {
      packed_ = PackedS8(weights, units, depth);
    } else {
      wide_.assign(weights, weights + units * depth);
    }
  }

  static std::size_t bytes(Index units, Index depth) {
    return suits_int8_product(units, depth)
               ? PackedS8::bytes(units, depth)
               : static_cast<std::size_t>(units * depth) * sizeof(std::int16_t);
  }
  std::size_t bytes() const { return bytes(units_, depth_); }
  /// Bytes that a product of so many rows takes on each thread.
  std::size_t thread_bytes(Index rows) const {
    if (!wide_.empty()) return 0;
    return static_cast<std::size_t>(2 * rows) *
               (static_cast<std::size_t>(depth_) +
                static_cast<std::size_t>(units_) * sizeof(std::int32_t)) +
           gemm_s8_thread_bytes(2 * rows, packed_);
  }

  /// sums[i, j] = start[j] + sum over k of x[i, k] * weights[j, k], exact.
  void multiply(Index rows, const std::int16_t* x, const std::int64_t* start,
                std::int64_t* sums) const {
    if (wide_.empty()) return multiply_halves(rows, x, start, sums);
    gemm_s16(rows, units_, depth_, x, wide_.data(), start, sums);
  }

 private:
  /// Beyond a depth, sums of int8 products leave int32; of a few units, those of a group for
  /// example, a packed panel would be empty for the most part.
  static bool suits_int8_product(Index units, Index depth) {
    constexpr Index kLeastUnits = 8;
    return units >= kLeastUnits && depth <= PackedS8::kMostInputs;
  }

  /// A code is 256 h + l + 128 with h and l of int8, so that int8 products, which are the fastest
  /// that there are, give the sums: 256 sum h w + sum l w + 128 sum w.
  void multiply_halves(Index rows, const std::int16_t* x, const std::int64_t* start,
                       std::int64_t* sums) const {
    constexpr int kHalf = 128;
    const Index codes = rows * depth_;
    const ScratchBuffer<std::int8_t, Int16Weights> halves(static_cast<std::size_t>(2 * codes));
    std::int8_t* const high = halves.data();
    std::int8_t* const low = high + codes;
    for (Index i = 0; i < codes; ++i) {
      high[i] = static_cast<std::int8_t>(x[i] >> 8);
      low[i] = static_cast<std::int8_t>((x[i] & 255) - kHalf);
    }
    const Index count = rows * units_;
    const ScratchBuffer<std::int32_t, Int16Weights> parts(static_cast<std::size_t>(2 * count));
    gemm_s8(2 * rows, high, depth_, packed_, parts.data());
    const auto of_weights = packed_.row_sums();
    for (Index i = 0; i < rows; ++i) {
      const std::int32_t* of_high = parts.data() + i * units_;
      const std::int32_t* of_low = of_high + count;
      for (Index j = 0; j < units_; ++j) {
        const std::int64_t of_half = std::int64_t{kHalf} * of_weights[static_cast<std::size_t>(j)];
        sums[i * units_ + j] =
            start[j] + of_half + of_low[j] + 2 * kHalf * std::int64_t{of_high[j]};
      }
    }
  }

  Index units_;
  Index depth_;
  /// One of the two.
  PackedS8 packed_;
  std::vector<std::int16_t> wide_;
};

}  // namespace octet::detail
