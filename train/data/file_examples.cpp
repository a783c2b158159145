#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/text.h>
#include <octet/train/data/csv_data.h>
#include <octet/train/data/csv_rows.h>
#include <octet/train/data/file_examples.h>
#include <octet/train/data/image_folder.h>
#include <octet/train/data/npy.h>
#include <octet/train/data/sequence_set.h>
#include <octet/train/data/signal_features.h>
#include <octet/train/data/sound_features.h>
#include <octet/train/data/sound_reader.h>
#include <octet/train/data/wav_folder.h>

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

FileExamples sound_example(const fs::path& file, const DataDescription& description) {
  const DataOptions& options = description.options;
  const std::string name = file.string();
  SoundReader reader(options);
  const Sound sound = reader.read(file);
  reader.log_resampled(name);
  if (!options.front_end.empty()) {
    SoundFeatures features(name, options, {});
    features.add(sound, "any", name);
    return {features_of(std::move(features).to_dataset(name)), {name}};
  }
  SequenceSet set(name, sound.channels, options, {});
  set.add(sound.values, "any", name);
  return {features_of(std::move(set).to_dataset(name)), {name}};
}

FileExamples csv_examples(const fs::path& file, const DataDescription& description) {
  DataOptions options = description.options;
  options.target_column.clear();
  options.group_column.clear();
  const std::string name = file.string();
  SkippedExamples none(0);
  const CsvRows rows = read_csv_rows(file, false, options, none);
  // A record of a CSV file may be a signal.
  const bool is_whole =
      options.window == 0 && description.shape.rank() == 2 && description.format != "CSV";
  if (is_whole) {
    SequenceSet set(name, rows.features, options, {});
    set.add(rows.values, "any", name);
    return {features_of(std::move(set).to_dataset(name)), {name}};
  }
  FileExamples examples;
  std::vector<float> values;
  const std::size_t window = options.window > 0 ? options.window : 1;
  const std::vector<std::size_t> starts = window_starts(0, rows.size(), options);
  check_data_bytes(name, starts.size(), {window, rows.features, sizeof(float)}, options);
  for (const std::size_t start : starts) {
    const auto begin = rows.values.begin() + static_cast<std::ptrdiff_t>(start * rows.features);
    values.insert(values.end(), begin, begin + static_cast<std::ptrdiff_t>(window * rows.features));
    examples.names.push_back(fmt::format("{}, line {}", name, rows.lines[start]));
  }
  if (examples.names.empty()) {
    throw FormatError(fmt::format("{}: expected {} records, which a window is of, found {}", name,
                                  window, rows.size()));
  }
  Shape shape{static_cast<Index>(examples.names.size())};
  const auto features = static_cast<Index>(rows.features);
  shape = options.window > 0 ? Shape{shape[0], static_cast<Index>(window), features}
                             : Shape{shape[0], features};
  examples.features = Tensor::from(shape, values);
  return examples;
}

FileExamples array_examples(const fs::path& file, const DataDescription& description) {
  const NpyArray array = read_npy(file);
  require_finite(array, file.string());
  Tensor values = array.to_tensor();
  if (const auto* bytes = std::get_if<std::vector<std::uint8_t>>(&array.values)) {
    // Divided as Dataset does.
    values = features_of(Dataset::from_bytes(file.string(), array.shape, *bytes, Labels{0}, 1))
                 .reshape(array.shape);
  }
  if (values.shape() == description.shape) {
    return {values.reshape(description.shape.with_batch(1)), {file.string()}};
  }
  FileExamples examples{values, {}};
  for (Index i = 0; i < values.dim(0); ++i) {
    examples.names.push_back(fmt::format("{}, row {}", file.string(), i));
  }
  return examples;
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

FileExamples read_file_examples(const fs::path& file, const DataDescription& description) {
  using Read = FileExamples (*)(const fs::path&, const DataDescription&);
  static constexpr std::pair<std::string_view, Read> kReaders[] = {
      {".jpg", image_example},   {".jpeg", image_example}, {".png", image_example},
      {".bmp", image_example},   {".wav", sound_example},  {".csv", csv_examples},
      {".csv.gz", csv_examples}, {".npy", array_examples}, {".npy.gz", array_examples}};
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
  throw InvalidArgument(
      fmt::format("{}: expected a name that ends in .jpg, .jpeg, .png, .bmp, .wav, .csv or .npy",
                  file.string()));
}

}  // namespace octet
