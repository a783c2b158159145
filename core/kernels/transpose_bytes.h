#pragma once

#include <octet/core/shape.h>

#include <cstdint>

namespace octet {

/// Transposes a matrix of bytes: to[j * to_stride + i] = from[i * from_stride + j] for i < rows and
/// j < columns. Runs on the calling thread.
void transpose_bytes(const std::int8_t* from, Index from_stride, Index rows, Index columns,
                     std::int8_t* to, Index to_stride);

}  // namespace octet
