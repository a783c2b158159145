#pragma once

#include <octet/core/ops/map.h>
#include <octet/core/quant/quantize.h>
#include <octet/core/tensor_internal.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace octet::detail {

/// The real values of all codes of int8, from -128 on.
inline std::array<float, 256> reals_of_codes(const QuantParams& params) {
  std::array<std::int8_t, 256> codes;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<std::int8_t>(static_cast<int>(i) - 128);
  }
  std::array<float, 256> real;
  dequantize(std::span<const std::int8_t>(codes), params, std::span<float>(real));
  return real;
}

/// f of the real values of all codes of int8. Where f has no state, each thread keeps the table of
/// the last scale and zero point, which the steps of a scan share.
template <class F>
std::array<float, 256> table_of(const F& f, const QuantParams& params) {
  struct Kept {
    float scale = 0.0F;
    std::int32_t zero_point = 0;
    std::array<float, 256> values;
  };
  const auto filled = [&] {
    std::array<float, 256> table = reals_of_codes(params);
    for (float& value : table) value = f(value);
    return table;
  };
  if constexpr (std::is_empty_v<F>) {
    thread_local Kept kept;
    if (kept.scale != params.scale() || kept.zero_point != params.zero_point()) {
      kept = {params.scale(), params.zero_point(), filled()};
    }
    return kept.values;
  } else {
    return filled();
  }
}

/// f of the elements of x, for an f that is worth a table: where x stores int8, f runs once for
/// each of their 256 real values.
template <class F>
Tensor map_function(F f, const Tensor& x) {
  constexpr std::size_t kValues = 256;
  const auto size = static_cast<std::size_t>(x.size());
  const StoredIntegers stored = TensorAccess::integers(x);
  const auto* const codes = stored.as<std::int8_t>();
  if (codes == nullptr || x.quantization() == nullptr || size <= kValues) {
    return map(Work::transcendental, f, x);
  }
  const std::array<float, kValues> table = table_of(f, *x.quantization());
  Tensor y(x.shape());
  float* const out = y.mutable_data();
  parallel_for(size, parallel_grain(Work::map_floats), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      out[i] = table[static_cast<std::size_t>(codes[i] + 128)];
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
