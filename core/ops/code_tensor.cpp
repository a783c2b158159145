#include <octet/core/ops/code_tensor.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/quantize.h>
#include <octet/core/tensor_internal.h>

#include <cstddef>
#include <span>
#include <utility>

namespace octet {

Tensor tensor_of_codes(const Shape& shape, std::shared_ptr<const QuantParams> grid,
                       std::shared_ptr<const std::int8_t[]> codes) {
  Tensor y = detail::TensorAccess::lazy(
      shape,
      {parallel_grain(Work::read_floats),
       [grid, codes](std::size_t begin, std::size_t end, float* out, MemoryParts /*prefetch*/) {
         dequantize(std::span(codes.get() + begin, end - begin), *grid, {out, end - begin});
       }});
  detail::TensorAccess::set_grid(y, std::move(grid), std::move(codes));
  return y;
}

}  // namespace octet
