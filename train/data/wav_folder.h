#pragma once

#include <octet/core/function_ref.h>
#include <octet/train/data/data_format.h>

#include <filesystem>
#include <string>
#include <vector>

namespace octet {

/// A sound as it lies in a file.
struct Sound {
  /// In samples a second.
  int rate = 0;
  std::size_t channels = 0;
  /// [samples, channels], in [-1, 1) where the file holds integers.
  std::vector<float> values;
};

/// Whether this build reads WAV files (OCTET_SOUNDS).
bool reads_sounds();

/// Reads the first `most` samples of a WAV file, all where it is 0. Throws IoError where it cannot
/// be read; FormatError for a file of another format, a damaged one, one of more than 64 channels,
/// and for values that are not finite; InvalidArgument where this build reads no sounds.
Sound read_wav(const std::filesystem::path& path, std::size_t most = 0);

/// Reads the first most_at(rate) samples of a file of that rate, likewise.
Sound read_wav(const std::filesystem::path& path, FunctionRef<std::size_t(int rate)> most_at);

/// Reads WAV files, each an example of the class that list_class_files() gives it, as
/// [samples, channels]; DataOptions::length brings them to one length. They are resampled to the
/// rate DataOptions::sample_rate, or where none is given to that of the first file, which is
/// logged, then as a warning; see Resampler. All have to have the channels of the first. With
/// DataOptions::front_end examples are features of sounds. Throws as list_class_files() and
/// read_wav(); FormatError, which names the file, for other channels, and for rates of no simple
/// ratio; InvalidArgument where one example takes more than DataOptions::max_bytes. Where all of
/// them take more, every file is read once, and then anew for each batch: see DecodingReader.
LoadedData load_wav_folder(const std::filesystem::path& folder, const DataOptions& options = {});

/// Whether load_wav_folder() finds files there.
bool is_wav_folder(const std::filesystem::path& folder);

}  // namespace octet
