#include <octet/core/buffer.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/byte_codes.h>
#include <octet/core/quant/quantize.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/quantize/tensor_codes.h>

#include <cstddef>

namespace octet {

using detail::TensorAccess;

TensorCodes quantize_tensor(const Tensor& x, const QuantParams& grid, RoundMode mode) {
  const auto size = static_cast<std::size_t>(x.size());
  auto codes = allocate_array<std::int8_t>(size);
  if (const std::uint8_t* bytes = TensorAccess::bytes(x)) {
    const ByteCodes table(grid, mode);
    parallel_for(size, thread_share(size, parallel_grain(Work::read_bytes)),
                 [&](std::size_t begin, std::size_t end) {
                   table.run({bytes + begin, end - begin}, {codes.get() + begin, end - begin});
                 });
    return codes;
  }
  const std::span<const float> reals = x.span();
  parallel_for(
      size, thread_share(size, parallel_grain(Work::read_floats)),
      [&](std::size_t begin, std::size_t end) {
        quantize(reals.subspan(begin, end - begin), grid, {codes.get() + begin, end - begin}, mode);
      });
  return codes;
}

TensorCodes codes_on_grid(const Tensor& x, const QuantParams& grid) {
  if (TensorCodes codes = TensorAccess::codes(x)) return codes;
  return quantize_tensor(x, grid);
}

Tensor tensor_of_codes(const Shape& shape, std::shared_ptr<const QuantParams> grid,
                       TensorCodes codes) {
  Tensor y = TensorAccess::lazy(
      shape,
      {parallel_grain(Work::read_floats),
       [grid, codes](std::size_t begin, std::size_t end, float* out, MemoryParts /*prefetch*/) {
         dequantize(std::span(codes.get() + begin, end - begin), *grid, {out, end - begin});
       }});
  TensorAccess::set_grid(y, std::move(grid), std::move(codes));
  return y;
}

}  // namespace octet
