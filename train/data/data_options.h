#pragma once

#include <octet/core/shape.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// What continues a sequence that is shorter than DataOptions::length.
enum class SequencePadding {
  zero,  ///< Zeros.
  last,  ///< Its last step, again and again.
  /// Zeros, and one feature more, the last, says which steps are the sequence's: 1 there, else 0.
  /// RecurrentOptions::masked takes it.
  mask
};

/// Every way to continue a sequence.
inline constexpr SequencePadding kPaddings[] = {SequencePadding::zero, SequencePadding::last,
                                                SequencePadding::mask};

/// "zero", "last" or "mask".
std::string_view to_string(SequencePadding padding);

/// Parses "zero", "last" or "mask". Throws InvalidArgument for anything else.
SequencePadding parse_sequence_padding(std::string_view text);

inline constexpr double kLeastSignalRange = 1e-9;
inline constexpr double kMostSignalRange = 1e9;

/// How load_data() divided the examples that a model was trained on.
struct TrainedSplit {
  /// DataOptions::split and split_seed; 0: they were not divided.
  double share = 0;
  std::uint64_t seed = 0;
  /// Tells other examples from those that were divided; see unweighted_fingerprint().
  std::string examples{};
  bool operator==(const TrainedSplit&) const = default;
};

/// What a path leaves open for load_data(). A format takes some of these options: another one that
/// is given is an error.
struct DataOptions {
  /// Where the test examples are, where `path` has none: data of the same format, all of it unless
  /// that has a test part.
  std::filesystem::path test_data{};
  /// The share of the examples that is for training, where data has no test part: see split_data().
  /// 0: none; all examples are then for both.
  double split = 0;
  std::uint64_t split_seed = 0;
  /// Divides the same examples as the training of a model did; others as if it were not given.
  TrainedSplit trained_split{};
  /// The names of the classes in the order of their labels; empty: those that the data have.
  std::vector<std::string> class_names{};
  /// Whether test examples may be of classes that no training example is of, as anomalies are;
  /// their labels come behind those of the training.
  bool more_test_classes = false;
  /// The steps of a sequence: longer ones are cut to their first so many, shorter ones continued.
  /// 0: all have one length.
  std::size_t length = 0;
  SequencePadding padding = SequencePadding::zero;
  /// A pattern of what the names of files say: see list_class_files(). Empty: folders are the
  /// classes.
  std::string class_from{};
  /// The size of images, to which all are resized; 0: all have one size.
  Index height = 0;
  Index width = 0;
  /// Whether images are made grey; else they are where all files are.
  bool grey = false;
  /// The samples a second that sounds get, see Resampler; 0: those of the first file. And those
  /// that other signals have, for `front_end`.
  int sample_rate = 0;
  /// What load_data(), and load_wav_folder(), turns sounds and other signals [samples, axes] into
  /// features with: "log-mel" (plain_log_mel()), "mfcc" (mfcc()), "spectrogram" (spectrogram()),
  /// "vibration" (vibration()) or "micro-speech" (micro_speech()). Examples are then [frames,
  /// channels]: a frame has frame_ms, one begins every frame_hop_ms, and each axis has
  /// mel_channels, with "vibration" one more, and with "mfcc" `cepstra`. `length` counts samples.
  /// Empty: samples as they are.
  std::string front_end{};
  int frame_ms = 30;
  int frame_hop_ms = 20;
  int mel_channels = 40;
  /// LogMelOptions::cepstra of "mfcc".
  int cepstra = 13;
  /// LogMelOptions::range, from kLeastSignalRange to kMostSignalRange. 0: 1 for sounds, else 32768:
  /// whole numbers, which are samples of 16 bits.
  double signal_range = 0;
  /// Whether training examples of a front end keep the signals that they were made of, for
  /// augment_signals(). Sounds are read anew for each batch, other signals stay in memory.
  bool keep_signals = false;
  /// Columns of CSV files, by their names, or by their numbers from 0 without a header. The target:
  /// empty for the last column; several, with commas between, for a number in each.
  std::string target_column{};
  /// Whether targets are numbers, whole ones too, and not classes.
  bool numbers = false;
  /// What records belong to, such as a recording or a person; empty: to nothing.
  std::string group_column{};
  /// The weights of the examples, see Dataset::with_sample_weights(); empty: all weigh 1.
  std::string weight_column{};
  /// The columns that are features, in this order; empty: all but those above and `ignored`.
  std::vector<std::string> columns{};
  /// Columns that are not read.
  std::vector<std::string> ignored{};
  /// So many records in a row are an example; 0: each is.
  std::size_t window = 0;
  /// How many records later the next window begins; 0: as many as a window has.
  std::size_t hop = 0;
  /// How many examples may be left out because they cannot be read: pictures that do not decode,
  /// sounds of another rate, ragged or empty records; 0: the first is an error.
  std::size_t skip_bad = 0;
  /// The most bytes that examples may take in memory. Examples of a folder of images or sounds that
  /// take more are decoded anew for each batch, those of .npy files with labels are read from where
  /// they lie, and give the same; of other data they are refused.
  std::size_t max_bytes = std::size_t{4} << 30U;
  /// The names of options that a command line gave, the values of which may be the defaults.
  std::set<std::string, std::less<>> chosen{};
};

/// The numbers that an option takes, where it is given.
struct OptionRange {
  std::uint64_t least = 1;
  std::uint64_t most = 1;
};

/// The numbers that the option of this name takes, on a command line and in a model's metadata.
/// Throws InvalidArgument for an option that takes no whole number.
OptionRange range_of_option(std::string_view name);

/// The names of the options that are given, as command lines have them without the dashes: those
/// that differ from the defaults, and those in DataOptions::chosen.
std::vector<std::string_view> given_options(const DataOptions& options);

}  // namespace octet
