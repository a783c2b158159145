#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/data/wav_folder.h>
#include <sndfile.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <system_error>

namespace octet {
namespace {

constexpr int kMostChannels = 64;
constexpr std::size_t kPieceSamples = std::size_t{1} << 16U;

struct CloseSound {
  void operator()(SNDFILE* file) const { sf_close(file); }
};

}  // namespace

bool reads_sounds() { return true; }

Sound read_wav(const std::filesystem::path& path, std::size_t most) {
  const std::string name = path.string();
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) {
    throw IoError(fmt::format("cannot read '{}': there is no such file", name));
  }
  SF_INFO info{};
  const std::unique_ptr<SNDFILE, CloseSound> file(sf_open(path.c_str(), SFM_READ, &info));
  if (!file) {
    throw FormatError(fmt::format("{}: expected a WAV file: {}", name, sf_strerror(nullptr)));
  }
  const int type = info.format & SF_FORMAT_TYPEMASK;
  if (type != SF_FORMAT_WAV && type != SF_FORMAT_WAVEX) {
    throw FormatError(fmt::format("{}: expected a WAV file, found another kind of sound", name));
  }
  if (info.channels < 1 || info.channels > kMostChannels || info.samplerate < 1) {
    throw FormatError(fmt::format("{}: expected 1 to {} channels, found {}, at {} samples a second",
                                  name, kMostChannels, info.channels, info.samplerate));
  }
  Sound sound{
      .rate = info.samplerate, .channels = static_cast<std::size_t>(info.channels), .values = {}};
  // Filled as samples arrive, so that memory follows what the file holds and not what it promises.
  for (std::size_t samples = 0; most == 0 || samples < most;) {
    const std::size_t piece = most == 0 ? kPieceSamples : std::min(kPieceSamples, most - samples);
    sound.values.resize((samples + piece) * sound.channels);
    const sf_count_t got = sf_readf_float(
        file.get(), sound.values.data() + samples * sound.channels, static_cast<sf_count_t>(piece));
    samples += static_cast<std::size_t>(std::max<sf_count_t>(got, 0));
    sound.values.resize(samples * sound.channels);
    if (got < static_cast<sf_count_t>(piece)) break;
  }
  if (sf_error(file.get()) != SF_ERR_NO_ERROR) {
    throw FormatError(fmt::format("{}: is damaged: {}", name, sf_strerror(file.get())));
  }
  if (!std::ranges::all_of(sound.values, [](float x) { return std::isfinite(x); })) {
    throw FormatError(fmt::format("{}: holds values that are not finite", name));
  }
  return sound;
}

}  // namespace octet
