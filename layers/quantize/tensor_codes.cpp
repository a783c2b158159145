#include <octet/core/autograd.h>
#include <octet/core/buffer.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/activation_range.h>
#include <octet/core/quant/byte_codes.h>
#include <octet/core/quant/quantize.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/quantize/tensor_codes.h>
#include <octet/runtime/integer_model.h>

#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

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

std::shared_ptr<const std::int16_t[]> int16_codes(const Tensor& x, const QuantParams& grid,
                                                  RoundMode mode) {
  const std::span<const float> reals = x.span();
  auto codes = allocate_array<std::int16_t>(reals.size());
  parallel_for(
      reals.size(), thread_share(reals.size(), parallel_grain(Work::read_floats)),
      [&](std::size_t begin, std::size_t end) {
        quantize(reals.subspan(begin, end - begin), grid, {codes.get() + begin, end - begin}, mode);
      });
  return codes;
}

Tensor tensor_of_int16(const Shape& shape, std::shared_ptr<const QuantParams> grid,
                       std::span<const std::int16_t> codes) {
  Tensor y(shape);
  const std::span<float> reals(y.data(), codes.size());
  parallel_for(reals.size(), thread_share(reals.size(), parallel_grain(Work::write_floats)),
               [&](std::size_t begin, std::size_t end) {
                 dequantize(codes.subspan(begin, end - begin), *grid,
                            reals.subspan(begin, end - begin));
               });
  TensorAccess::set_grid(y, std::move(grid));
  return y;
}

namespace {

/// The reals that the codes of x stand for.
Tensor on_grid(const Tensor& x, std::shared_ptr<const QuantParams> grid, RoundMode mode) {
  if (type_of_codes(*grid) == DType::int16) {
    const auto codes = int16_codes(x, *grid, mode);
    return tensor_of_int16(x.shape(), std::move(grid),
                           {codes.get(), static_cast<std::size_t>(x.size())});
  }
  TensorCodes codes = quantize_tensor(x, *grid, mode);
  return tensor_of_codes(x.shape(), std::move(grid), std::move(codes));
}

}  // namespace

Tensor put_on_grid(const Tensor& x, std::shared_ptr<const QuantParams> grid, RoundMode mode,
                   const LearnedRange& learned) {
  const RealLimits limits = learned.passes_or(real_limits(*grid));
  const Tensor y = on_grid(x, std::move(grid), mode);
  std::vector<Tensor> inputs = {x};
  learned.append_to(inputs);
  return record("quantize_dequantize", y, inputs, [x, limits, learned](const Tensor& g) {
    std::vector<Tensor> gradients = {
        inside_window(x, g, {limits.lo, limits.hi, -kUnbounded, kUnbounded})};
    learned.append_gradients(gradients, x, g);
    return gradients;
  });
}

}  // namespace octet
