#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/ops/quantized_tensor.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/quantize.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace octet {
namespace {

/// Real values of int8 or int16.
template <class T>
detail::LazyData real_values(const std::shared_ptr<const QuantParams>& params,
                             const detail::StoredIntegers& integers) {
  return {parallel_grain(Work::read_floats),
          [params, integers](std::size_t begin, std::size_t end, float* out, MemoryParts) {
            const std::span<const T> part(integers.as<T>() + begin, end - begin);
            dequantize(part, *params, {out, part.size()});
          }};
}

}  // namespace

Tensor quantized_tensor(const Shape& shape, std::shared_ptr<const QuantParams> params,
                        detail::StoredIntegers integers) {
  if (integers.dtype != DType::int8 && integers.dtype != DType::int16) {
    throw InvalidArgument(fmt::format("quantized_tensor: expected int8 or int16, found {}",
                                      to_string(integers.dtype)));
  }
  Tensor y = detail::TensorAccess::lazy(shape, integers.dtype == DType::int8
                                                   ? real_values<std::int8_t>(params, integers)
                                                   : real_values<std::int16_t>(params, integers));
  detail::TensorAccess::set_quantization(y, std::move(params), std::move(integers));
  return y;
}

}  // namespace octet
