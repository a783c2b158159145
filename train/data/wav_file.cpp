#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/data/wav_folder.h>
#include <sndfile.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string_view>
#include <system_error>

namespace octet {
namespace {

constexpr int kMostChannels = 64;
constexpr std::size_t kPieceValues = std::size_t{1} << 16U;
/// The most values that a byte of a compressed file is taken to hold.
constexpr std::size_t kMostValuesOfByte = 8;

struct CloseSound {
  void operator()(SNDFILE* file) const { sf_close(file); }
};

/// Makes room for what the file promises and can hold, so that values are not moved as they grow.
void reserve_values(const std::filesystem::path& path, std::size_t promised, std::size_t most,
                    Sound& sound) {
  std::error_code failure;
  const auto bytes = static_cast<std::size_t>(std::filesystem::file_size(path, failure));
  if (failure) return;
  const std::size_t samples = most == 0 ? promised : std::min(promised, most);
  sound.values.reserve(std::min(samples, kMostValuesOfByte * bytes / sound.channels) *
                       sound.channels);
}

/// Throws FormatError for a file that ends before its samples do, which libsndfile passes over.
void require_whole(const std::filesystem::path& path) {
  // Programs that write to a pipe promise that much or more, since they cannot know.
  constexpr std::uint64_t kUnknown = 0x7FFFF000;
  std::error_code failure;
  const std::uint64_t size = std::filesystem::file_size(path, failure);
  std::ifstream file(path, std::ios::binary);
  std::array<char, 12> riff{};
  if (failure || !file.read(riff.data(), riff.size()) || riff[3] != 'F') return;
  std::uint64_t at = riff.size();
  for (std::array<char, 8> head{}; file.read(head.data(), head.size());) {
    at += head.size();
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      length |= std::uint64_t{static_cast<unsigned char>(head[4 + i])} << (8 * i);
    }
    if (std::string_view(head.data(), 4) == "data") {
      if (length >= kUnknown || length <= size - std::min(at, size)) return;
      throw FormatError(
          fmt::format("{}: the header promises {} bytes of samples, but only {} follow; was the "
                      "recording or the download interrupted?",
                      path.string(), length, size - std::min(at, size)));
    }
    // Chunks begin at even places.
    length += length % 2;
    file.ignore(static_cast<std::streamsize>(length));
    at += length;
  }
}

}  // namespace

bool reads_sounds() { return true; }

Sound read_wav(const std::filesystem::path& path, std::size_t most) {
  return read_wav(path, [most](int /*rate*/) { return most; });
}

Sound read_wav(const std::filesystem::path& path, FunctionRef<std::size_t(int rate)> most_at) {
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
  require_whole(path);
  Sound sound{
      .rate = info.samplerate, .channels = static_cast<std::size_t>(info.channels), .values = {}};
  const std::size_t most = most_at(sound.rate);
  reserve_values(path, static_cast<std::size_t>(std::max<sf_count_t>(info.frames, 0)), most, sound);
  // Filled as samples arrive, so that memory follows what the file holds and not what it promises.
  std::vector<float> piece(kPieceValues / sound.channels * sound.channels);
  for (std::size_t samples = 0; most == 0 || samples < most;) {
    std::size_t wanted = piece.size() / sound.channels;
    if (most > 0) wanted = std::min(wanted, most - samples);
    const sf_count_t got =
        sf_readf_float(file.get(), piece.data(), static_cast<sf_count_t>(wanted));
    const auto count = static_cast<std::size_t>(std::max<sf_count_t>(got, 0));
    sound.values.insert(sound.values.end(), piece.begin(),
                        piece.begin() + static_cast<std::ptrdiff_t>(count * sound.channels));
    samples += count;
    if (count < wanted) break;
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
