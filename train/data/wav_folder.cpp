#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/data/class_files.h>
#include <octet/train/data/sequence_set.h>
#include <octet/train/data/set_name.h>
#include <octet/train/data/wav_folder.h>

#include <optional>
#include <span>
#include <utility>

namespace octet {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string_view>& wav_endings() {
  static const std::vector<std::string_view> kEndings = {".wav"};
  return kEndings;
}

/// Reads sounds of one rate and as many channels.
class SoundFolder {
 public:
  SoundFolder(const fs::path& folder, const DataOptions& options)
      : folder_(folder), options_(options), rate_(options.sample_rate) {}

  Dataset read(std::span<const ClassFile> files, std::vector<std::string> known) {
    std::optional<SequenceSet> set;
    for (const ClassFile& file : files) {
      const std::string name = file.path.string();
      const Sound sound = read_wav(file.path, options_.length);
      check(sound, name);
      if (!set) set.emplace(folder_.string(), channels_, options_, known);
      set->add(sound.values, file.class_name, name);
    }
    return std::move(set).value().to_dataset(set_name(folder_));
  }

 private:
  void check(const Sound& sound, const std::string& name) {
    if (rate_ == 0) rate_ = sound.rate;
    if (channels_ == 0) channels_ = sound.channels;
    if (sound.rate != rate_) {
      throw FormatError(fmt::format(
          "{}: expected {} samples a second{}, found {}; sounds are not resampled here: do so with "
          "another program, e.g. sox IN.wav -r {} OUT.wav",
          name, rate_, options_.sample_rate > 0 ? "" : " as in the first file", sound.rate, rate_));
    }
    if (sound.channels != channels_) {
      throw FormatError(fmt::format("{}: expected {} channels as in the first file, found {}", name,
                                    channels_, sound.channels));
    }
  }

  const fs::path& folder_;
  const DataOptions& options_;
  int rate_;
  std::size_t channels_ = 0;
};

}  // namespace

bool is_wav_folder(const fs::path& folder) { return holds_files(folder, wav_endings()); }

LoadedData load_wav_folder(const fs::path& folder, const DataOptions& options) {
  const ClassFiles files = list_class_files(folder, wav_endings(), options);
  SoundFolder sounds(folder, options);
  LoadedData data{.train = sounds.read(files.train, options.class_names),
                  .groups = groups_of(files.train)};
  if (!files.test.empty()) data.test = sounds.read(files.test, data.train.class_names());
  return data;
}

}  // namespace octet
