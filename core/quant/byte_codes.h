#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <octet/core/arithmetic/round_mode.h>
#include <octet/core/quant/quant_params.h>

namespace octet {

/// Converts pixels to int8 codes without computing floats: a table of what quantize() gives for
/// x = byte / 255.
class ByteCodes {
 public:
  /// Throws InvalidArgument, as quantize() does, unless `grid` is valid and has one scale.
  explicit ByteCodes(const QuantParams& grid, RoundMode mode = RoundMode::half_away);

  /// Writes the code of each byte to `out`. Throws InvalidArgument if sizes differ.
  void run(std::span<const std::uint8_t> bytes, std::span<std::int8_t> out) const;

 private:
  std::array<std::int8_t, 256> table_{};
  /// Whether code(b) = b + code(0) for all b, as it is on a grid of steps of 1 / 255.
  bool shift_ = false;
};

}  // namespace octet
