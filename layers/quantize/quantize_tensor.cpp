#include <octet/core/autograd.h>
#include <octet/core/buffer.h>
#include <octet/core/dtype.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/core/ops/quantized_tensor.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/activation_range.h>
#include <octet/core/quant/byte_codes.h>
#include <octet/core/quant/quantize.h>
#include <octet/layers/quantize/quantize_tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace octet {

using detail::for_each_lazy_part;
using detail::LazyData;
using detail::StoredIntegers;
using detail::TensorAccess;

namespace {

template <class T>
StoredIntegers quantized(const Tensor& x, const QuantParams& params, RoundMode mode) {
  const auto size = static_cast<std::size_t>(x.size());
  auto integers = allocate_array<T>(size);
  if (const LazyData* lazy = TensorAccess::pending(x); lazy != nullptr && lazy->unit > 0) {
    // A copy: others may ask for all elements meanwhile.
    for_each_lazy_part(LazyData(*lazy), size, [&](std::size_t at, std::span<const float> values) {
      quantize(values, params, {integers.get() + at, values.size()}, mode);
    });
    return integers;
  }
  const std::span<const float> values = x.span();
  parallel_for(size, thread_share(size, parallel_grain(Work::read_floats)),
               [&](std::size_t begin, std::size_t end) {
                 quantize(values.subspan(begin, end - begin), params,
                          {integers.get() + begin, end - begin}, mode);
               });
  return integers;
}

/// Looks the values of pixels up: there are 256.
StoredIntegers quantized_pixels(std::span<const std::uint8_t> pixels, const QuantParams& params,
                                RoundMode mode) {
  auto integers = allocate_array<std::int8_t>(pixels.size());
  const ByteCodes table(params, mode);
  parallel_for(
      pixels.size(), thread_share(pixels.size(), parallel_grain(Work::read_bytes)),
      [&](std::size_t begin, std::size_t end) {
        table.run(pixels.subspan(begin, end - begin), {integers.get() + begin, end - begin});
      });
  return integers;
}

}  // namespace

StoredIntegers quantize_tensor(const Tensor& x, const QuantParams& params, RoundMode mode) {
  if (integer_type_of(params) == DType::int16) {
    return quantized<std::int16_t>(x, params, mode);
  }
  const StoredIntegers stored = TensorAccess::integers(x);
  if (const auto* pixels = stored.as<std::uint8_t>()) {
    return quantized_pixels({pixels, static_cast<std::size_t>(x.size())}, params, mode);
  }
  return quantized<std::int8_t>(x, params, mode);
}

StoredIntegers integers_of(const Tensor& x, const QuantParams& params) {
  StoredIntegers stored = TensorAccess::integers(x);
  return stored.dtype == integer_type_of(params) ? stored : quantize_tensor(x, params);
}

Tensor quantize_dequantize(const Tensor& x, std::shared_ptr<const QuantParams> params,
                           RoundMode mode, const LearnedRange& learned) {
  const RealLimits limits = learned.passes_or(real_limits(*params));
  StoredIntegers integers = quantize_tensor(x, *params, mode);
  const Tensor y = quantized_tensor(x.shape(), std::move(params), std::move(integers));
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
