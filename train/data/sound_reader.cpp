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
  const std::string name = path.string();
  From* from = nullptr;
  Sound sound = read_wav(path, [&](int rate) {
    if (rate_ == 0 || rate == rate_) return options_.length;
    from = &from_of(rate, name);
    return from->resampler.needed(options_.length);
  });
  require_steps(sound.values.size(), name);
  // Not of a sound that cannot be read.
  if (rate_ == 0) rate_ = sound.rate;
  ++count_;
  if (from == nullptr) return sound;
  ++from->count;
  const std::size_t samples = from->resampler.samples(sound.values.size() / sound.channels);
  check_data_bytes(name, 1, {samples, sound.channels, sizeof(float)}, options_);
  sound.values = from->resampler.resample(sound.values, sound.channels);
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
