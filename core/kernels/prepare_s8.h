#pragma once

#include <octet/core/kernels/isa.h>

#include <cstddef>
#include <cstdint>

namespace octet {

/// Writes int8 values as the tiles of a code path read them: as int16 where it widens them, else as
/// bytes, `offset` added.
inline void prepare_s8(const KernelTable& table, int offset, const std::int8_t* values,
                       std::size_t size, std::uint8_t* to) {
  if (table.s8_x_bytes == 2) {
    table.passes.widen_codes(values, size, reinterpret_cast<std::int16_t*>(to));
  } else {
    table.passes.shift_codes(values, size, offset, to);
  }
}

}  // namespace octet
