#pragma once

#include <octet/core/ops/map.h>
#include <octet/core/quant/quantize.h>
#include <octet/core/tensor_internal.h>

#include <array>
#include <cstdint>

namespace octet::detail {

/// f of the elements of x, for an f that is worth a table: where x stores int8, f runs once for
/// each of their 256 real values.
template <class F>
Tensor map_function(F f, const Tensor& x) {
  constexpr std::size_t kValues = 256;
  const auto size = static_cast<std::size_t>(x.size());
  const StoredIntegers stored = TensorAccess::integers(x);
  const std::int8_t* const codes = stored.as<std::int8_t>();
  if (codes == nullptr || x.quantization() == nullptr || size <= kValues) {
    return map(Work::transcendental, f, x);
  }
  std::array<std::int8_t, kValues> all;
  for (std::size_t i = 0; i < kValues; ++i)
    all[i] = static_cast<std::int8_t>(static_cast<std::uint8_t>(i));
  std::array<float, kValues> table;
  dequantize(std::span<const std::int8_t>(all), *x.quantization(), std::span<float>(table));
  for (float& value : table) value = f(value);
  Tensor y(x.shape());
  float* const out = y.mutable_data();
  parallel_for(size, parallel_grain(Work::map_floats), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      out[i] = table[static_cast<std::uint8_t>(codes[i])];
    }
  });
  return y;
}

/// f of the elements of x in one pass, as map_function() where it is transcendental.
template <class F>
Tensor map_unary(Work work, F f, const Tensor& x) {
  return work == Work::transcendental ? map_function(f, x) : map(work, f, x);
}

}  // namespace octet::detail
