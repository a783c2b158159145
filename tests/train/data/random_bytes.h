#pragma once

#include <octet/core/random.h>

#include <cstdint>
#include <vector>

namespace octet::test {

/// Bytes that gzip cannot make fewer.
inline std::vector<std::uint8_t> random_bytes(std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  const Random random(7);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::uint8_t>(random.below(i, 256));
  }
  return bytes;
}

}  // namespace octet::test
