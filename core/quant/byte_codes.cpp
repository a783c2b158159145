#include <octet/core/quant/byte_codes.h>

#include <cstddef>

#include <fmt/core.h>

#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/quant/quantize.h>

namespace octet {

ByteCodes::ByteCodes(const QuantParams& grid, RoundMode mode) {
  std::array<std::uint8_t, 256> bytes;
  for (std::size_t b = 0; b < bytes.size(); ++b) bytes[b] = static_cast<std::uint8_t>(b);
  std::array<float, 256> reals;
  kernels().passes.bytes_to_unit(bytes.data(), bytes.size(), reals.data());
  quantize(reals, grid, table_, mode);
  shift_ = true;
  for (std::size_t b = 0; b < table_.size(); ++b) {
    shift_ = shift_ && static_cast<std::size_t>(table_[b] - table_[0]) == b;
  }
}

void ByteCodes::run(std::span<const std::uint8_t> bytes, std::span<std::int8_t> out) const {
  if (bytes.size() != out.size()) {
    throw InvalidArgument(
        fmt::format("byte codes: {} bytes in, {} quantized values out", bytes.size(), out.size()));
  }
  if (shift_) {
    // Modulo 256, signed and unsigned addition are the same.
    kernels().passes.shift_codes(reinterpret_cast<const std::int8_t*>(bytes.data()), bytes.size(),
                                 table_[0], reinterpret_cast<std::uint8_t*>(out.data()));
    return;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) out[i] = table_[bytes[i]];
}

}  // namespace octet
