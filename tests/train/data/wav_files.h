#pragma once

#include <octet/tests/train/data/idx_files.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace octet::test {

/// A WAV file of 16 bits, `channels` samples beside each other.
inline Bytes wav_bytes(std::uint32_t rate, std::uint32_t channels,
                       const std::vector<std::int16_t>& samples) {
  Bytes file;
  const auto put_text = [&](std::string_view text) {
    file.insert(file.end(), text.begin(), text.end());
  };
  const auto put = [&](std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) file.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  };
  const auto data = static_cast<std::uint32_t>(2 * samples.size());
  put_text("RIFF");
  put(36 + data, 4);
  put_text("WAVEfmt ");
  put(16, 4);
  put(1, 2);  // PCM
  put(channels, 2);
  put(rate, 4);
  put(2 * channels * rate, 4);
  put(2 * channels, 2);
  put(16, 2);
  put_text("data");
  put(data, 4);
  for (const std::int16_t sample : samples) put(static_cast<std::uint16_t>(sample), 2);
  return file;
}

}  // namespace octet::test
