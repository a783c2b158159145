// write_sounds FOLDER: drawn sounds of three "digits", where commands of docs/howto/sounds.md look
// for recordings: tones of one pitch each, of two voices, the second of which is recorded at
// another rate.

#include <fmt/core.h>
#include <octet/core/file.h>
#include <octet/tests/train/data/wav_files.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <numbers>
#include <vector>

namespace {

struct Voice {
  const char* name;
  int rate;
};

std::vector<std::int16_t> tone(double hz, int rate, std::uint32_t seed) {
  std::uint32_t state = seed * 2654435761U + 1U;
  const auto random = [&] { return (state = state * 1664525U + 1013904223U) / 4294967296.0; };
  const double strength = 4000.0 + 8000.0 * random();
  const double pitch = hz * (0.9 + 0.2 * random());
  std::vector<std::int16_t> sound(static_cast<std::size_t>(rate * (0.6 + 0.6 * random())));
  for (std::size_t i = 0; i < sound.size(); ++i) {
    const double angle = 2.0 * std::numbers::pi * pitch * static_cast<double>(i) / rate;
    sound[i] = static_cast<std::int16_t>(strength * std::sin(angle) + 600.0 * (random() - 0.5));
  }
  return sound;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: write_sounds FOLDER\n", stderr);
    return 2;
  }
  try {
    const std::filesystem::path folder = argv[1];
    std::filesystem::create_directories(folder);
    std::uint32_t seed = 0;
    for (const int digit : {1, 4, 7}) {
      for (const Voice& voice : {Voice{"jackson", 8000}, Voice{"lucas", 16000}}) {
        for (int take = 0; take < 20; ++take) {
          octet::write_file_atomic(folder / fmt::format("{}_{}_{}.wav", digit, voice.name, take),
                                   octet::test::wav_bytes(static_cast<std::uint32_t>(voice.rate), 1,
                                                          tone(300.0 * digit, voice.rate, ++seed)));
        }
      }
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "write_sounds: %s\n", error.what());
    return 1;
  }
}
