#pragma once

#include <octet/core/quant/quant_params.h>
#include <octet/core/tensor.h>
#include <octet/core/tensor_internal.h>

#include <memory>

namespace octet {

/// Returns a tensor that stores `integers`, of int8 or int16, with one scale and zero point. Its
/// real values are computed when they are asked for. Throws InvalidArgument for another type.
Tensor quantized_tensor(const Shape& shape, std::shared_ptr<const QuantParams> params,
                        detail::StoredIntegers integers);

}  // namespace octet
