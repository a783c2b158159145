#pragma once

#include <octet/core/shape.h>
#include <octet/core/tensor.h>

#include <cstdint>
#include <span>

// Numbers of other widths as floats.

namespace octet::detail {

enum class FloatType { f16, bf16, f32, f64 };

/// The numbers of `bytes`, little-endian and of any alignment, which are shape.size() many; of f64
/// the nearest float, ties to even.
Tensor float_tensor(FloatType type, const Shape& shape, std::span<const std::uint8_t> bytes);

}  // namespace octet::detail
