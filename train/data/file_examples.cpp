#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/text.h>
#include <octet/train/data/csv_data.h>
#include <octet/train/data/csv_rows.h>
#include <octet/train/data/file_examples.h>
#include <octet/train/data/idx.h>
#include <octet/train/data/image_folder.h>
#include <octet/train/data/npy.h>
#include <octet/train/data/sequence_set.h>
#include <octet/train/data/signal_features.h>
#include <octet/train/data/skipped_examples.h>
#include <octet/train/data/sound_features.h>
#include <octet/train/data/sound_reader.h>
#include <octet/train/data/ts.h>
#include <octet/train/data/wav_folder.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <span>
#include <utility>

namespace octet {
namespace {

namespace fs = std::filesystem;

/// All features of a set whose examples are not labelled.
Tensor features_of(const Dataset& set) { return set.features(0, set.size()); }

FileExamples image_example(const fs::path& file, const DataDescription& description) {
  const Shape& shape = description.shape;
  const bool is_image = (shape.rank() == 2 && description.options.front_end.empty()) ||
                        (shape.rank() == 3 && (shape[2] == 1 || shape[2] == 3));
  if (!is_image) {
    throw FormatError(
        fmt::format("{}: expected examples {}, as the model was trained on, found an image",
                    file.string(), shape.to_string()));
  }
  const PixelSize size{shape[0], shape[1], shape.rank() == 3 ? shape[2] : 1};
  check_data_bytes(file.string(), 1,
                   {static_cast<std::size_t>(size.height), static_cast<std::size_t>(size.width),
                    static_cast<std::size_t>(size.channels), sizeof(float)},
                   description.options);
  Dataset set =
      Dataset::from_bytes(file.string(), shape, read_image(file, size), Labels{0}, /*classes=*/1);
  return {features_of(set), {file.string()}};
}

/// The features of a sound, which has to have the channels of those of the training.
FileExamples sound_features(const Dataset& set, const Sound& sound,
                            const DataDescription& description, const std::string& name) {
  const auto channels = static_cast<Index>(sound.channels);
  const Index found = set.example_shape().dim(-1);
  const Index expected = channels * description.shape.dim(-1);
  if (found != description.shape.dim(-1) && expected % found == 0) {
    throw FormatError(
        fmt::format("{}: expected a sound of as many channels as those of the training had, {}, "
                    "found {}",
                    name, expected / found, channels));
  }
  return {features_of(set), {name}};
}

FileExamples sound_example(const fs::path& file, const DataDescription& description) {
  const DataOptions& options = description.options;
  const std::string name = file.string();
  SoundReader reader(options);
  const Sound sound = reader.read(file);
  reader.log_resampled(name);
  if (!options.front_end.empty()) {
    SoundFeatures features(name, options, {});
    features.add(sound, "any", name);
    return sound_features(std::move(features).to_dataset(name), sound, description, name);
  }
  SequenceSet set(name, sound.channels, options, {});
  set.add(sound.values, "any", name);
  return sound_features(std::move(set).to_dataset(name), sound, description, name);
}

/// Calls read(skipped), which leaves out what cannot be read. Where nothing is left of the file,
/// the error shows what is wrong with the first.
template <class Read>
auto read_most(const Read& read, std::vector<std::string>& unread) {
  SkippedExamples skipped(std::numeric_limits<std::size_t>::max());
  try {
    auto result = read(skipped);
    unread = skipped.texts();
    return result;
  } catch (const FormatError& error) {
    if (skipped.texts().empty()) throw;
    throw FormatError(fmt::format("{}; the first: {}", error.what(), skipped.texts().front()));
  }
}

/// The first records of the examples of a file, which go across no record that was left out and no
/// change of the group.
std::vector<std::size_t> starts_in(const CsvRows& rows, const DataOptions& options) {
  std::vector<std::size_t> starts;
  std::set<std::size_t> ends = rows.behind_gaps;
  ends.insert(rows.size());
  for (std::size_t i = 1; i < rows.groups.size(); ++i) {
    if (rows.groups[i] != rows.groups[i - 1]) ends.insert(i);
  }
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    std::ranges::copy(window_starts(begin, end, options), std::back_inserter(starts));
    begin = end;
  }
  return starts;
}

FileExamples csv_examples(const fs::path& file, const DataDescription& description) {
  DataOptions options = description.options;
  options.target_column.clear();
  const std::string name = file.string();
  // A record of a CSV file may be a signal.
  const bool is_whole =
      options.window == 0 && description.shape.rank() == 2 && description.format != "CSV";
  if (is_whole) {
    SkippedExamples none(0);
    const CsvRows rows = read_csv_rows(file, CsvUse::prediction, options, none);
    SequenceSet set(name, rows.features, options, {});
    set.add(rows.values, "any", name);
    return {features_of(std::move(set).to_dataset(name)), {name}};
  }
  FileExamples examples;
  const CsvRows rows = read_most(
      [&](SkippedExamples& skipped) {
        return read_csv_rows(file, CsvUse::prediction, options, skipped);
      },
      examples.unread);
  std::vector<float> values;
  const std::size_t window = options.window > 0 ? options.window : 1;
  const std::vector<std::size_t> starts = starts_in(rows, options);
  check_data_bytes(name, starts.size(), {window, rows.features, sizeof(float)}, options);
  for (const std::size_t start : starts) {
    const auto begin = rows.values.begin() + static_cast<std::ptrdiff_t>(start * rows.features);
    values.insert(values.end(), begin, begin + static_cast<std::ptrdiff_t>(window * rows.features));
    examples.names.push_back(fmt::format("{}, line {}", name, rows.lines[start]));
  }
  if (examples.names.empty()) {
    throw FormatError(
        fmt::format("{}: expected {} records in a row, which a window is of, found "
                    "{} in the file",
                    name, window, rows.size()));
  }
  Shape shape{static_cast<Index>(examples.names.size())};
  const auto features = static_cast<Index>(rows.features);
  shape = options.window > 0 ? Shape{shape[0], static_cast<Index>(window), features}
                             : Shape{shape[0], features};
  examples.features = Tensor::from(shape, values);
  return examples;
}

FileExamples npy_examples(const fs::path& file, const DataDescription& description) {
  return array_examples(file.string(), read_npy(file), description);
}

FileExamples idx_examples(const fs::path& file, const DataDescription& description) {
  IdxArray images = read_idx(file);
  return array_examples(file.string(), {images.shape, std::move(images.values)}, description);
}

FileExamples ts_examples(const fs::path& file, const DataDescription& description) {
  DataOptions options = description.options;
  // The classes are those of the file: nothing is learned of them.
  options.class_names.clear();
  FileExamples examples;
  const Dataset set = read_most(
      [&](SkippedExamples& skipped) { return load_ts(file, options, skipped); }, examples.unread);
  const std::string folder = file.has_parent_path() ? (file.parent_path() / "").string() : "";
  for (std::size_t i = 0; i < set.size(); ++i) {
    examples.names.push_back(folder + set.example_name(i));
  }
  examples.features = features_of(set);
  return examples;
}

/// Whether an example of the one shape is one of the other: images may lack the axis of a single
/// channel.
bool is_example_of(const Shape& found, const Shape& expected) {
  if (found == expected) return true;
  return found.rank() + 1 == expected.rank() && expected.dim(-1) == 1 &&
         std::equal(found.begin(), found.end(), expected.begin());
}

/// Whether files of the format hold signals: sounds become features where they are read.
bool takes_signals(const DataDescription& description) {
  return !description.options.front_end.empty() && description.format != "WAV";
}

/// Examples with features in place of signals.
FileExamples as_features(FileExamples examples, const std::string& name,
                         const DataOptions& options) {
  const Tensor none = Tensor::zeros({examples.features.dim(0), 1});
  examples.features = features_of(
      with_front_end_features(Dataset::from_tensors(name, examples.features, none), options));
  return examples;
}

}  // namespace

FileExamples array_examples(const std::string& name, const NpyArray& array,
                            const DataDescription& description) {
  Tensor values = array.to_tensor();
  if (const auto* bytes = std::get_if<std::vector<std::uint8_t>>(&array.values)) {
    // Divided as Dataset does.
    values = features_of(Dataset::from_bytes(name, array.shape, *bytes, Labels{0}, 1))
                 .reshape(array.shape);
  }
  if (is_example_of(array.shape, description.shape)) {
    require_finite(array, name);
    return {values.reshape(description.shape.with_batch(1)), {name}};
  }
  if (array.shape.rank() == 0) {
    throw FormatError(fmt::format("{}: expected examples [n, ...], found a single number", name));
  }
  FileExamples examples;
  const Shape shape = array.shape.without_batch();
  const auto each = static_cast<std::size_t>(shape.size());
  std::vector<float> kept;
  const auto take_rows = [&](SkippedExamples& skipped) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(array.shape[0]); ++i) {
      const std::span<const float> row = values.span().subspan(i * each, each);
      if (!skipped.take([&] { require_finite_row(row, name, i); })) continue;
      kept.insert(kept.end(), row.begin(), row.end());
      examples.names.push_back(fmt::format("{}, row {}", name, i));
    }
    require_read(name, examples.names.size());
    return examples.names.size();
  };
  const auto count = static_cast<Index>(read_most(take_rows, examples.unread));
  const Shape& as = is_example_of(shape, description.shape) ? description.shape : shape;
  examples.features = Tensor::from(as.with_batch(count), kept);
  return examples;
}

FileExamples read_file_examples(const fs::path& file, const DataDescription& description) {
  using Read = FileExamples (*)(const fs::path&, const DataDescription&);
  static constexpr std::pair<std::string_view, Read> kReaders[] = {
      {".jpg", image_example},   {".jpeg", image_example},  {".png", image_example},
      {".bmp", image_example},   {".wav", sound_example},   {".csv", csv_examples},
      {".csv.gz", csv_examples}, {".tsv", csv_examples},    {".tsv.gz", csv_examples},
      {".npy", npy_examples},    {".npy.gz", npy_examples}, {".ts", ts_examples},
      {".ts.gz", ts_examples},   {"-ubyte", idx_examples},  {"-ubyte.gz", idx_examples}};
  const std::string name = lower_case(file.filename().string());
  for (const auto& [ending, read] : kReaders) {
    if (!name.ends_with(ending)) continue;
    FileExamples examples = read(file, description);
    if (takes_signals(description) &&
        examples.features.shape().without_batch() != description.shape) {
      examples = as_features(std::move(examples), file.string(), description.options);
    }
    const Shape found = examples.features.shape().without_batch();
    if (found == description.shape) return examples;
    throw FormatError(fmt::format("{}: expected examples {}, as the model was trained on, found {}",
                                  file.string(), description.shape.to_string(), found.to_string()));
  }
  throw InvalidArgument(fmt::format(
      "{}: expected a name that ends in .jpg, .jpeg, .png, .bmp, .wav, .csv, .tsv, .npy, .ts "
      "or -ubyte, or an .npz file",
      file.string()));
}

}  // namespace octet
