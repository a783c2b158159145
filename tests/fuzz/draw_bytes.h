#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>

namespace octet::fuzz {

/// Values taken from the front of a fuzzer's bytes; zeros once they have run out.
class DrawBytes {
 public:
  explicit DrawBytes(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool empty() const { return bytes_.empty(); }
  std::span<const std::uint8_t> rest() const { return bytes_; }

  template <class T>
  T value() {
    T result{};
    const std::size_t size = bytes_.size() < sizeof(T) ? bytes_.size() : sizeof(T);
    if (size > 0) std::memcpy(&result, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
    return result;
  }

  /// In [lo, hi], of one byte.
  int between(int lo, int hi) { return lo + value<std::uint8_t>() % (hi - lo + 1); }
  bool flag() { return (value<std::uint8_t>() & 1U) != 0; }

  /// A scale as files have them, one of any size that is finite, or any bits.
  float scale() {
    const int kind = between(0, 15);
    if (kind % 4 != 0) {
      return std::ldexp(1.0F + static_cast<float>(value<std::uint8_t>()) / 256.0F,
                        between(0, 14) - 12);
    }
    // Without the sign and the lowest bit of the exponent.
    constexpr std::uint32_t kFinite = 0x7F7FFFFF;
    const auto bits = value<std::uint32_t>();
    return std::bit_cast<float>(kind == 0 ? bits : bits & kFinite);
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace octet::fuzz
