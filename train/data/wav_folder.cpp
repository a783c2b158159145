#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/data/class_files.h>
#include <octet/train/data/sequence_set.h>
#include <octet/train/data/set_name.h>
#include <octet/train/data/signal_features.h>
#include <octet/train/data/skipped_examples.h>
#include <octet/train/data/sound_features.h>
#include <octet/train/data/sound_reader.h>
#include <octet/train/data/wav_folder.h>

#include <optional>
#include <utility>

namespace octet {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string_view>& wav_endings() {
  static const std::vector<std::string_view> endings = {".wav"};
  return endings;
}

/// Reads sounds at one rate, of as many channels.
class SoundFolder {
 public:
  SoundFolder(const fs::path& folder, const DataOptions& options)
      : folder_(folder), options_(options), skipped_(options.skip_bad), reader_(options) {}

  int rate() const { return reader_.rate(); }
  void log_resampled() const { reader_.log_resampled(folder_.string()); }
  /// The samples of the last sound.
  std::size_t samples() const { return samples_; }

  /// Erases the files that cannot be read.
  Dataset read(std::vector<ClassFile>& files, std::vector<std::string> known) {
    if (!options_.front_end.empty()) return read_features(files, std::move(known));
    std::optional<SequenceSet> set;
    for_each(files, [&](const Sound& sound, const ClassFile& file) {
      if (!set) set.emplace(folder_.string(), channels_, options_, known);
      set->add(sound.values, file.class_name, file.path.string());
    });
    return std::move(set).value().to_dataset(set_name(folder_));
  }

  const std::vector<std::string>& skipped() const { return skipped_.texts(); }

 private:
  Dataset read_features(std::vector<ClassFile>& files, std::vector<std::string> known) {
    SoundFeatures features(folder_.string(), options_, std::move(known));
    for_each(files, [&](const Sound& sound, const ClassFile& file) {
      features.add(sound, file.class_name, file.path.string());
    });
    return std::move(features).to_dataset(set_name(folder_));
  }

  template <class Take>
  void for_each(std::vector<ClassFile>& files, const Take& take) {
    std::erase_if(files, [&](const ClassFile& file) {
      Sound sound;
      const bool is_read = skipped_.take([&] {
        sound = reader_.read(file.path);
        check(sound, file.path.string());
      });
      if (!is_read) return true;
      samples_ = sound.values.size() / channels_;
      take(sound, file);
      return false;
    });
    require_read(folder_.string(), files.size());
  }

  void check(const Sound& sound, const std::string& name) {
    if (channels_ == 0) channels_ = sound.channels;
    if (sound.channels != channels_) {
      throw FormatError(fmt::format("{}: expected {} channels as in the first file, found {}", name,
                                    channels_, sound.channels));
    }
  }

  const fs::path& folder_;
  const DataOptions& options_;
  SkippedExamples skipped_;
  SoundReader reader_;
  std::size_t channels_ = 0;
  std::size_t samples_ = 0;
};

}  // namespace

bool is_wav_folder(const fs::path& folder) { return holds_files(folder, wav_endings()); }

LoadedData load_wav_folder(const fs::path& folder, const DataOptions& options) {
  require_front_end_options(options, /*are_sounds=*/true);
  ClassFiles files = list_class_files(folder, wav_endings(), options);
  SoundFolder sounds(folder, options);
  LoadedData data{.train = sounds.read(files.train, options.class_names), .resolved = options};
  data.groups = groups_of(files.train);
  data.resolved->sample_rate = sounds.rate();
  if (options.length == 0) data.resolved->length = sounds.samples();
  const std::vector<std::string> names = data.train.class_names();
  if (!files.test.empty()) data.test = sounds.read(files.test, names);
  if (!files.validation.empty()) data.validation = sounds.read(files.validation, names);
  sounds.log_resampled();
  data.skipped = sounds.skipped();
  return data;
}

}  // namespace octet
