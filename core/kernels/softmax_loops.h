#pragma once

#include <octet/core/kernels/code_loops.h>

// The softmax of codes, as simple as the loops of passes_loops.h.

namespace octet::passes {

/// Returns 256 / the sum of the exponentials of a row's codes, and writes the first `kept`
/// exponentials to `out` and the largest code to `largest`.
[[gnu::always_inline]] static inline float row_exps(const std::int8_t* __restrict in,
                                                    std::size_t row, const float* __restrict exps,
                                                    std::size_t kept, float* __restrict out,
                                                    std::int32_t* largest) {
  std::int32_t most = in[0];
#pragma GCC unroll 4
  for (std::size_t j = 1; j < row; ++j) most = in[j] > most ? in[j] : most;
  float sum = 0.0F;
#pragma GCC unroll 4
  for (std::size_t j = 0; j < kept; ++j) sum += out[j] = exps[most - in[j]];
  for (std::size_t j = kept; j < row; ++j) sum += exps[most - in[j]];
  *largest = most;
  return 1.0F / (sum * (1.0F / 256.0F));
}

/// out[i] = min(round(exps[i] * inverses[i]) - 128, 127).
[[gnu::always_inline]] static inline void exps_to_codes(const float* __restrict exps,
                                                        const float* __restrict inverses,
                                                        std::size_t size,
                                                        std::int8_t* __restrict out) {
  for (std::size_t i = 0; i < size; ++i) {
    const std::int32_t code = nearest_integer(small::round_half_away(exps[i] * inverses[i])) - 128;
    out[i] = static_cast<std::int8_t>(code < 127 ? code : 127);
  }
}

/// Sums row by row, in order, and does everything else for many rows at a time.
static void softmax_codes(const std::int8_t* in, std::size_t rows, std::size_t row,
                          const float* exps, std::int8_t* out) {
  constexpr std::size_t kBlock = 512;
  float kept[kBlock];
  float inverses[kBlock];
  std::int32_t largest = 0;
  if (row > kBlock) {
    for (; rows > 0; --rows, in += row, out += row) {
      const float inverse = row_exps(in, row, exps, 0, kept, &largest);
      for (float& each : inverses) each = inverse;
      for (std::size_t i = 0; i < row; i += kBlock) {
        const std::size_t size = row - i < kBlock ? row - i : kBlock;
        for (std::size_t j = 0; j < size; ++j) kept[j] = exps[largest - in[i + j]];
        exps_to_codes(kept, inverses, size, out + i);
      }
    }
    return;
  }
  const std::size_t most_rows = kBlock / row;
  while (rows > 0) {
    const std::size_t count = rows < most_rows ? rows : most_rows;
    for (std::size_t r = 0; r < count; ++r) {
      const std::size_t at = r * row;
      const float inverse = row_exps(in + at, row, exps, row, kept + at, &largest);
      for (std::size_t j = at; j < at + row; ++j) inverses[j] = inverse;
    }
    exps_to_codes(kept, inverses, count * row, out);
    rows -= count;
    in += count * row;
    out += count * row;
  }
}

}  // namespace octet::passes
