#include <octet/core/kernels/isa.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/quantize.h>
#include <octet/layers/quantize/tensor_codes.h>

#include <array>
#include <cstddef>

namespace octet {
namespace {

constexpr std::size_t kGrain = 1U << 15;
constexpr std::size_t kByteValues = 256;

using ByteCodes = std::array<std::int8_t, kByteValues>;

/// The code of every pixel that there can be.
ByteCodes codes_of_bytes(const QuantParams& grid, RoundMode mode) {
  std::array<std::uint8_t, kByteValues> bytes;
  for (std::size_t b = 0; b < bytes.size(); ++b) bytes[b] = static_cast<std::uint8_t>(b);
  std::array<float, kByteValues> reals;
  kernels().passes.bytes_to_unit(bytes.data(), bytes.size(), reals.data());
  ByteCodes codes;
  quantize(reals, grid, codes, mode);
  return codes;
}

/// Whether code(b) = b + code(0) for all b, as it is on a grid of steps of 1 / 255.
bool is_shift(const ByteCodes& codes) {
  for (std::size_t b = 0; b < codes.size(); ++b) {
    if (static_cast<std::size_t>(codes[b] - codes[0]) != b) return false;
  }
  return true;
}

void quantize_bytes(const std::uint8_t* bytes, std::size_t size, const ByteCodes& table,
                    std::int8_t* out) {
  if (is_shift(table)) {
    // Modulo 256 it does not matter which of the two is signed.
    kernels().passes.shift_codes(reinterpret_cast<const std::int8_t*>(bytes), size, table[0],
                                 reinterpret_cast<std::uint8_t*>(out));
    return;
  }
  for (std::size_t i = 0; i < size; ++i) out[i] = table[bytes[i]];
}

}  // namespace

TensorCodes quantize_tensor(const Tensor& x, const QuantParams& grid, RoundMode mode) {
  const auto size = static_cast<std::size_t>(x.size());
  auto codes = std::make_shared_for_overwrite<std::int8_t[]>(size);
  if (x.bytes() != nullptr) {
    const ByteCodes table = codes_of_bytes(grid, mode);
    parallel_for(size, kGrain * sizeof(float), [&](std::size_t begin, std::size_t end) {
      quantize_bytes(x.bytes() + begin, end - begin, table, codes.get() + begin);
    });
    return codes;
  }
  const std::span<const float> reals = x.span();
  parallel_for(size, kGrain, [&](std::size_t begin, std::size_t end) {
    quantize(reals.subspan(begin, end - begin), grid, {codes.get() + begin, end - begin}, mode);
  });
  return codes;
}

TensorCodes codes_on_grid(const Tensor& x, const QuantParams& grid) {
  if (x.codes() == nullptr) return quantize_tensor(x, grid);
  return {TensorCodes(), x.codes()};
}

Tensor tensor_of_codes(const Shape& shape, std::shared_ptr<const QuantParams> grid,
                       TensorCodes codes) {
  Tensor y = Tensor::lazy(
      shape, {kGrain, [grid, codes](std::size_t begin, std::size_t end, float* out) {
                dequantize(std::span(codes.get() + begin, end - begin), *grid, {out, end - begin});
              }});
  y.set_grid(std::move(grid), std::move(codes));
  return y;
}

}  // namespace octet
