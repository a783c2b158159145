#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/data/sequence_set.h>
#include <octet/train/data/sound_features.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace octet {

LogMel front_end_of(const DataOptions& options, int sample_rate) {
  LogMelOptions how;
  if (options.front_end == "log-mel") {
    how = plain_log_mel(sample_rate);
  } else if (options.front_end == "micro-speech") {
    how = micro_speech(sample_rate);
  } else {
    throw InvalidArgument(
        fmt::format("front end: expected log-mel or micro-speech, found '{}'", options.front_end));
  }
  how.window_ms = options.frame_ms;
  how.hop_ms = options.frame_hop_ms;
  how.channels = options.mel_channels;
  return LogMel(how);
}

std::vector<std::int16_t> to_pcm(const std::vector<float>& samples) {
  std::vector<std::int16_t> pcm;
  pcm.reserve(samples.size());
  for (const float sample : samples) {
    const float scaled = std::clamp(sample * 32768.0F, -32768.0F, 32767.0F);
    pcm.push_back(static_cast<std::int16_t>(std::lrint(scaled)));
  }
  return pcm;
}

SoundFeatures::SoundFeatures(std::string of, const DataOptions& options,
                             std::vector<std::string> known_classes)
    : of_(std::move(of)), options_(options), classes_(std::move(known_classes)) {}

void SoundFeatures::add(const Sound& sound, std::string_view class_name, const std::string& where) {
  if (sound.channels != 1) {
    throw FormatError(
        fmt::format("{}: a front end takes one channel, found {}", where, sound.channels));
  }
  if (!front_end_) front_end_ = front_end_of(options_, sound.rate);
  std::vector<std::int16_t> pcm = to_pcm(sound.values);
  if (options_.length > 0) {
    check_data_bytes(of_, 1, {options_.length, sizeof(std::int16_t)}, options_);
    pcm.resize(options_.length);
  }
  if (count_ == 0) samples_ = pcm.size();
  if (pcm.size() != samples_) {
    throw FormatError(
        fmt::format("{}: expected {} samples as in the first sound, found {}; give "
                    "--length N, to which sounds are cut or padded",
                    where, samples_, pcm.size()));
  }
  if (pcm.size() < front_end_->window()) {
    throw FormatError(
        fmt::format("{}: expected at least the {} samples of a frame, found {}; give "
                    "a larger --length or a smaller --frame",
                    where, front_end_->window(), pcm.size()));
  }
  check_data_bytes(of_, count_ + 1, {front_end_->frames(samples_), front_end_->channels()},
                   options_);
  classes_.add(class_name, where);
  ++count_;
  for (const std::uint16_t feature : front_end_->features(pcm)) {
    bytes_.push_back(front_end_->to_byte(feature));
  }
}

Dataset SoundFeatures::to_dataset(std::string name) && {
  if (count_ == 0) throw FormatError(fmt::format("{}: holds no sounds", of_));
  const std::vector<std::string> names = classes_.names();
  return Dataset::from_bytes(std::move(name),
                             {static_cast<Index>(front_end_->frames(samples_)),
                              static_cast<Index>(front_end_->channels())},
                             std::move(bytes_), classes_.labels(), static_cast<int>(names.size()))
      .with_class_names(names)
      .with_front_end(front_end_->description());
}

}  // namespace octet
