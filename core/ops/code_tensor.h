#pragma once

#include <octet/core/quant/quant_params.h>
#include <octet/core/tensor.h>

#include <cstdint>
#include <memory>

namespace octet {

/// A tensor of the real values of `codes`, which are computed when they are asked for; it keeps the
/// codes and their grid, of one scale.
Tensor tensor_of_codes(const Shape& shape, std::shared_ptr<const QuantParams> grid,
                       std::shared_ptr<const std::int8_t[]> codes);

}  // namespace octet
