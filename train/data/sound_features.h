#pragma once

#include <octet/frontend/log_mel.h>
#include <octet/train/data/class_names.h>
#include <octet/train/data/data_options.h>
#include <octet/train/data/dataset.h>
#include <octet/train/data/wav_folder.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace octet {

/// Examples made of the features of sounds: bytes [frames, channels] (LogMel::to_byte()). With
/// DataOptions::length each sound is cut to its first samples, or silence is added at its end.
class SoundFeatures {
 public:
  /// `of` is the folder that holds the sounds, for errors.
  SoundFeatures(std::string of, const DataOptions& options, std::vector<std::string> known_classes);

  /// The features of a sound of as many channels as the first, whose length and rate all are to
  /// have; behind that first call from any thread. Throws as add().
  std::vector<std::uint8_t> features(const Sound& sound, const std::string& where);

  /// The shape and the front end of examples, once there are features.
  Shape example_shape() const;
  std::string description() const { return front_end_->description(); }

  /// Adds a sound of as many channels as the first; `where` is what it is from. Throws FormatError
  /// as feature_bytes(); InvalidArgument as front_end_of() and check_data_bytes().
  void add(const Sound& sound, std::string_view class_name, const std::string& where);

  /// Throws FormatError for no sound, and where no length is given and they have several.
  Dataset to_dataset(std::string name) &&;

 private:
  std::string of_;
  DataOptions options_;
  ClassNames classes_;
  std::optional<LogMel> front_end_;
  std::size_t count_ = 0;
  /// What every sound has; 0 before the first.
  std::size_t samples_ = 0;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace octet
