#pragma once

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

  /// A scale as files have them, or any bits.
  float scale() {
    if (between(0, 3) == 0) return value<float>();
    return std::ldexp(1.0F + static_cast<float>(value<std::uint8_t>()) / 256.0F,
                      between(0, 14) - 12);
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace octet::fuzz
