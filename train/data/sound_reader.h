#pragma once

#include <octet/core/function_ref.h>
#include <octet/train/data/data_options.h>
#include <octet/train/data/resample.h>
#include <octet/train/data/wav_folder.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>

namespace octet {

/// Reads sounds at one sample rate: DataOptions::sample_rate, or where that is 0 the rate of the
/// first of them. Sounds of other rates are resampled.
class SoundReader {
 public:
  explicit SoundReader(const DataOptions& options);

  /// Reads a sound, its first DataOptions::length samples at rate(), all where that is 0. Throws as
  /// read_wav(); FormatError, which names the file, as Resampler(); InvalidArgument where the
  /// samples take more than DataOptions::max_bytes.
  Sound read(const std::filesystem::path& path);

  /// Reads a sound as read() does, once read() has read it; from any thread. Throws FormatError,
  /// which names the file, where its rate is now one that no sound had.
  Sound read_again(const std::filesystem::path& path) const;

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
  /// resampler_of() is null for sounds that stay as they are.
  Sound read_with(const std::filesystem::path& path,
                  FunctionRef<const Resampler*(int rate)> resampler_of) const;

  DataOptions options_;
  int rate_;
  std::size_t count_ = 0;
  /// By the rate of the files.
  std::map<int, From> from_;
};

}  // namespace octet
