#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace octet::test {

/// Sounds from a generator of random numbers: "noise" that fades in steps, a "square" wave that
/// falls, of full scale, and "impulses" of -32768 in soft noise.
inline std::vector<std::int16_t> drawn_sound(std::string_view kind, std::size_t samples) {
  std::vector<std::int16_t> sound;
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < samples; ++i) {
    state = state * 1664525U + 1013904223U;
    const int noise = static_cast<int>(state >> 16U) - 32768;
    int value = noise >> (i / 800 % 12);
    if (kind == "square") value = i / (20 + i / 500) % 2 != 0 ? -32768 : 32767;
    if (kind == "impulses") value = i % 997 == 500 ? -32768 : noise >> 9;
    sound.push_back(static_cast<std::int16_t>(value));
  }
  return sound;
}

}  // namespace octet::test
