#pragma once

#include <octet/train/data/data_options.h>
#include <octet/train/data/resample.h>
#include <octet/train/data/wav_folder.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>

namespace octet {

/// Reads sounds at one sample rate: DataOptions::sample_rate, or where that is 0 the rate of the
/// first of them. Sounds of other rates are resampled. Keeps a reference to the options.
class SoundReader {
 public:
  explicit SoundReader(const DataOptions& options);

  /// Reads a sound, its first DataOptions::length samples at rate(), all where that is 0. Throws as
  /// read_wav(); FormatError, which names the file, as Resampler(); InvalidArgument where the
  /// samples take more than DataOptions::max_bytes.
  Sound read(const std::filesystem::path& path);

  int rate() const { return rate_; }
  /// Logs from which rates sounds have been resampled so far, as a warning where no rate was given;
  /// `of` is what they are from.
  void log_resampled(const std::string& of) const;

 private:
  struct From {
    Resampler resampler;
    std::size_t count = 0;
  };

  From& from_of(int rate, const std::string& name);

  const DataOptions& options_;
  int rate_;
  std::size_t count_ = 0;
  /// By the rate of the files.
  std::map<int, From> from_;
};

}  // namespace octet
