#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/data/class_files.h>
#include <octet/train/data/class_names.h>
#include <octet/train/data/decoding_reader.h>
#include <octet/train/data/sequence_set.h>
#include <octet/train/data/set_name.h>
#include <octet/train/data/signal_features.h>
#include <octet/train/data/skipped_examples.h>
#include <octet/train/data/sound_features.h>
#include <octet/train/data/sound_reader.h>
#include <octet/train/data/wav_folder.h>

#include <functional>
#include <initializer_list>
#include <memory>
#include <set>
#include <span>
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
  /// `count` is that of the files of all parts.
  SoundFolder(const fs::path& folder, const DataOptions& options, std::size_t count)
      : folder_(folder),
        options_(options),
        count_(count),
        skipped_(options.skip_bad),
        reader_(std::make_shared<SoundReader>(options)) {}

  int rate() const { return reader_->rate(); }
  void log_resampled() const { reader_->log_resampled(folder_.string()); }
  /// The samples of the last sound.
  std::size_t samples() const { return samples_; }

  /// Erases the files that cannot be read.
  Dataset read(std::vector<ClassFile>& files, const std::vector<std::string>& known) {
    measure_first(files);
    if (!options_.front_end.empty()) return read_features(files, known);
    if (!fits({length_, features_of_step(), sizeof(float)})) return read_later(files, known);
    SequenceSet set(folder_.string(), channels_, options_, known);
    for_each(files, [&](const Sound& sound, const ClassFile& file) {
      set.add(sound.values, file.class_name, file.path.string());
    });
    return std::move(set).to_dataset(set_name(folder_));
  }

  const std::vector<std::string>& skipped() const { return skipped_.texts(); }

 private:
  bool fits(std::initializer_list<std::size_t> factors) const {
    check_data_bytes(folder_.string(), 1, factors, options_);
    return fit_data_bytes(count_, factors, options_);
  }

  /// The values of a step of an example.
  std::size_t features_of_step() const {
    return channels_ + (options_.padding == SequencePadding::mask ? 1 : 0);
  }

  Dataset read_features(std::vector<ClassFile>& files, const std::vector<std::string>& known) {
    const auto features = std::make_shared<SoundFeatures>(folder_.string(), options_, known);
    Sound silence = first_;
    silence.values.resize(length_ * channels_);
    if (!fits({features->features(silence, files.front().path.string()).size()})) {
      return with_signals(
          read_later<std::uint8_t>(files, known, features->example_shape(),
                                   [features](const Sound& sound, const std::string& name) {
                                     return features->features(sound, name);
                                   })
              .with_front_end(features->description()));
    }
    for_each(files, [&](const Sound& sound, const ClassFile& file) {
      features->add(sound, file.class_name, file.path.string());
    });
    return with_signals(std::move(*features).to_dataset(set_name(folder_)));
  }

  /// The samples of a sound that its features are made of.
  std::vector<float> signal_of(const Sound& sound) const {
    std::vector<float> signal = sound.values;
    signal.resize(length_ * channels_);
    return signal;
  }

  /// The examples with the sounds that they were made of, if those are to be kept.
  Dataset with_signals(Dataset features) {
    if (!keeps_signals()) return features;
    FileExampleSet<float> set;
    set.files = std::move(signals_);
    set.shape = {static_cast<Index>(length_), static_cast<Index>(channels_)};
    set.labels = {features.labels().begin(), features.labels().end()};
    set.classes = features.classes();
    set.decode = [reader = reader_, size = length_ * channels_](const fs::path& path) {
      std::vector<float> signal = reader->read_again(path).values;
      signal.resize(size);
      return signal;
    };
    return std::move(features).with_signals(Dataset::from_reader(
        set_name(folder_), std::make_shared<DecodingReader<float>>(std::move(set))));
  }

  bool keeps_signals() const { return options_.keep_signals && !options_.front_end.empty(); }

  /// Examples that are no features of sounds.
  Dataset read_later(std::vector<ClassFile>& files, const std::vector<std::string>& known) {
    const Shape shape{static_cast<Index>(length_), static_cast<Index>(features_of_step())};
    return read_later<float>(
        files, known, shape,
        [length = length_, how = options_](const Sound& sound, const std::string& name) {
          const std::size_t samples = sound.values.size() / sound.channels;
          if (how.length == 0 && samples != length) {
            throw FormatError(
                fmt::format("{}: expected {} samples as in the first sound, found {}; give "
                            "--length N, to which sounds are cut or padded",
                            name, length, samples));
          }
          return brought_to_length(sound.values, sound.channels, length, how.padding);
        });
  }

  /// Reads all files once, and has `decode` make examples of them whenever they are asked for.
  template <class T>
  Dataset read_later(std::vector<ClassFile>& files, const std::vector<std::string>& known,
                     const Shape& shape,
                     std::function<std::vector<T>(const Sound&, const std::string&)> decode) {
    ClassNames classes(known, options_.more_test_classes);
    FileExampleSet<T> set;
    for_each(files, [&](const Sound& sound, const ClassFile& file) {
      const std::vector<T> example = decode(sound, file.path.string());
      set.files.push_back({file.path, hash_of_values(std::span<const T>(example))});
      classes.add(file.class_name, file.path.string());
    });
    const std::vector<std::string> names = classes.names();
    set.shape = shape;
    set.labels = classes.labels();
    set.classes = static_cast<int>(names.size());
    set.decode = [reader = reader_, decode = std::move(decode)](const fs::path& path) {
      return decode(reader->read_again(path), path.string());
    };
    return Dataset::from_reader(set_name(folder_),
                                std::make_shared<DecodingReader<T>>(std::move(set)))
        .with_class_names(names);
  }

  /// Reads the first sound that can be read, which says how large an example is; erases the files
  /// in front of it.
  void measure_first(std::vector<ClassFile>& files) {
    // Sounds of all parts have one rate.
    DataOptions how = options_;
    if (rate() > 0) how.sample_rate = rate();
    while (!files.empty()) {
      // Does not count among those that reader_ has read.
      SoundReader reader(how);
      Sound sound;
      if (read_one(reader, files.front(), sound)) {
        first_ = {reader.rate(), channels_, {}};
        length_ = options_.length > 0 ? options_.length : sound.values.size() / channels_;
        return;
      }
      files.erase(files.begin());
    }
    require_read(folder_.string(), files.size());
  }

  bool read_one(SoundReader& reader, const ClassFile& file, Sound& sound) {
    return skipped_.take([&] {
      sound = reader.read(file.path);
      check(sound, file.path.string());
    });
  }

  template <class Take>
  void for_each(std::vector<ClassFile>& files, const Take& take) {
    signals_.clear();
    std::erase_if(files, [&](const ClassFile& file) {
      Sound sound;
      if (!read_one(*reader_, file, sound)) return true;
      samples_ = sound.values.size() / channels_;
      take(sound, file);
      if (keeps_signals()) {
        const std::vector<float> signal = signal_of(sound);
        signals_.push_back({file.path, hash_of_values(std::span<const float>(signal))});
      }
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
  std::size_t count_;
  SkippedExamples skipped_;
  /// Shared with the sets whose sounds are read later.
  std::shared_ptr<SoundReader> reader_;
  std::size_t channels_ = 0;
  std::size_t samples_ = 0;
  /// The rate and the channels of the first sound, without its values.
  Sound first_;
  /// The files that features were made of, where they keep their sounds.
  std::vector<DecodedFile> signals_;
  /// The samples of an example, or of what its features are made of.
  std::size_t length_ = 0;
};

}  // namespace

bool is_wav_folder(const fs::path& folder) { return holds_files(folder, wav_endings()); }

LoadedData load_wav_folder(const fs::path& folder, const DataOptions& options) {
  require_front_end_options(options, /*are_sounds=*/true);
  ClassFiles files = list_class_files(folder, wav_endings(), options);
  const std::set<std::string> classes = class_names_in(files.train);
  SoundFolder sounds(folder, options,
                     files.train.size() + files.test.size() + files.validation.size());
  const auto read = [&](std::vector<ClassFile>& part, const std::vector<std::string>& known) {
    return with_file_names(sounds.read(part, known), folder, part);
  };
  LoadedData data{.train = read(files.train, options.class_names), .resolved = options};
  require_each_class(folder, classes, data.train);
  data.groups = groups_of(files.train);
  data.resolved->sample_rate = sounds.rate();
  if (options.length == 0) data.resolved->length = sounds.samples();
  const std::vector<std::string> names = data.train.class_names();
  if (!files.test.empty()) data.test = read(files.test, names);
  if (!files.validation.empty()) data.validation = read(files.validation, names);
  sounds.log_resampled();
  data.skipped = sounds.skipped();
  return data;
}

}  // namespace octet
