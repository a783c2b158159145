#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/data/sequence_set.h>
#include <octet/train/data/signal_features.h>
#include <octet/train/data/sound_features.h>

#include <utility>

namespace octet {

SoundFeatures::SoundFeatures(std::string of, const DataOptions& options,
                             std::vector<std::string> known_classes)
    : of_(std::move(of)),
      options_(options),
      classes_(std::move(known_classes), options.more_test_classes) {}

std::vector<std::uint8_t> SoundFeatures::features(const Sound& sound, const std::string& where) {
  if (!front_end_) front_end_ = front_end_of(options_, {sound.rate, sound.channels, /*range=*/1});
  std::vector<float> values = sound.values;
  if (options_.length > 0) {
    check_data_bytes(of_, 1, {options_.length, sound.channels, sizeof(float)}, options_);
    values.resize(options_.length * sound.channels);
  }
  const std::size_t samples = values.size() / sound.channels;
  if (samples_ == 0) samples_ = samples;
  if (samples != samples_) {
    throw FormatError(
        fmt::format("{}: expected {} samples as in the first sound, found {}; give "
                    "--length N, to which sounds are cut or padded",
                    where, samples_, samples));
  }
  return feature_bytes(*front_end_, values, where);
}

Shape SoundFeatures::example_shape() const {
  return {static_cast<Index>(front_end_->frames(samples_)),
          static_cast<Index>(front_end_->channels())};
}

void SoundFeatures::add(const Sound& sound, std::string_view class_name, const std::string& where) {
  const std::vector<std::uint8_t> bytes = features(sound, where);
  check_data_bytes(of_, count_ + 1, {bytes.size()}, options_);
  classes_.add(class_name, where);
  ++count_;
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

Dataset SoundFeatures::to_dataset(std::string name) && {
  if (count_ == 0) throw FormatError(fmt::format("{}: holds no sounds", of_));
  const std::vector<std::string> names = classes_.names();
  return Dataset::from_bytes(std::move(name), example_shape(), std::move(bytes_), classes_.labels(),
                             static_cast<int>(names.size()))
      .with_class_names(names)
      .with_front_end(description());
}

}  // namespace octet
