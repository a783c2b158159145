#pragma once

#include <octet/core/shape.h>

#include <cstdint>

namespace octet {

/// sums[i, j] = start[j] + sum over k < depth of x[i, k] * weights[j, k], for x [rows, depth] of
/// int16 codes and weights [units, depth] of int8 codes that lie as int16, on the calling thread.
/// Products are added up in int32, 256 at a time, and these sums in int64: exact for depths that
/// memory holds.
void gemm_s16(Index rows, Index units, Index depth, const std::int16_t* x,
              const std::int16_t* weights, const std::int64_t* start, std::int64_t* sums);

/// Adds x[c] * weights[c] to sums[c], for channels side by side: one tap of a depthwise
/// convolution.
void add_products_s16(Index channels, const std::int16_t* x, const std::int8_t* weights,
                      std::int64_t* sums);

}  // namespace octet
