#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/log.h>
#include <octet/core/printable.h>
#include <octet/train/data/sequence_set.h>
#include <octet/train/data/sound_reader.h>

namespace octet {
namespace {

constexpr std::size_t kMostOfName = 300;

}  // namespace

SoundReader::SoundReader(const DataOptions& options)
    : options_(options), rate_(options.sample_rate) {}

Sound SoundReader::read(const std::filesystem::path& path) {
  From* from = nullptr;
  Sound sound = read_with(path, [&](int rate) -> const Resampler* {
    if (rate_ == 0 || rate == rate_) return nullptr;
    from = &from_of(rate, path.string());
    return &from->resampler;
  });
  // Not of a sound that cannot be read.
  if (rate_ == 0) rate_ = sound.rate;
  ++count_;
  if (from != nullptr) ++from->count;
  return sound;
}

Sound SoundReader::read_again(const std::filesystem::path& path) const {
  return read_with(path, [&](int rate) -> const Resampler* {
    if (rate == rate_) return nullptr;
    const auto found = from_.find(rate);
    if (found != from_.end()) return &found->second.resampler;
    throw FormatError(
        fmt::format("{}: expected the sample rate that it had when the data were first read, found "
                    "{} samples a second; was the file replaced during the run?",
                    path.string(), rate));
  });
}

Sound SoundReader::read_with(const std::filesystem::path& path,
                             FunctionRef<const Resampler*(int rate)> resampler_of) const {
  const std::string name = path.string();
  const Resampler* resampler = nullptr;
  Sound sound = read_wav(path, [&](int rate) {
    resampler = resampler_of(rate);
    return resampler == nullptr ? options_.length : resampler->needed(options_.length);
  });
  require_steps(sound.values.size(), name);
  if (resampler == nullptr) return sound;
  const std::size_t samples = resampler->samples(sound.values.size() / sound.channels);
  check_data_bytes(name, 1, {samples, sound.channels, sizeof(float)}, options_);
  sound.values = resampler->resample(sound.values, sound.channels);
  sound.rate = rate_;
  if (options_.length > 0 && samples > options_.length) {
    sound.values.resize(options_.length * sound.channels);
  }
  return sound;
}

void SoundReader::log_resampled(const std::string& of) const {
  const bool is_wanted = options_.sample_rate > 0;
  for (const auto& [rate, from] : from_) {
    log_message(
        is_wanted ? LogLevel::info : LogLevel::warn,
        fmt::format("{}: {} of {} sounds resampled from {} to {} samples a second{}",
                    printable(of, kMostOfName), from.count, count_, rate, rate_,
                    is_wanted ? "" : ", the rate of the first; --sample-rate sets another"));
  }
}

SoundReader::From& SoundReader::from_of(int rate, const std::string& name) {
  const auto found = from_.find(rate);
  if (found != from_.end()) return found->second;
  try {
    return from_.emplace(rate, From{.resampler = Resampler(rate, rate_)}).first->second;
  } catch (const InvalidArgument& error) {
    throw FormatError(fmt::format("{}: {}", name, error.what()));
  }
}

}  // namespace octet
