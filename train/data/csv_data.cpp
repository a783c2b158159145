#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/printable.h>
#include <octet/core/text.h>
#include <octet/train/data/class_files.h>
#include <octet/train/data/class_names.h>
#include <octet/train/data/csv_data.h>
#include <octet/train/data/csv_rows.h>
#include <octet/train/data/example_names.h>
#include <octet/train/data/number_text.h>
#include <octet/train/data/sequence_set.h>
#include <octet/train/data/set_name.h>
#include <octet/train/data/skipped_examples.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace octet {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string_view>& csv_endings() {
  static const std::vector<std::string_view> endings = {".csv", ".tsv"};
  return endings;
}

bool are_numbers(const CsvRows& rows, const DataOptions& options) {
  if (options.numbers || rows.targets_of_each > 1) return true;
  if (!options.class_names.empty()) return false;
  bool has_fraction = false;
  for (const std::string& text : rows.targets) {
    const std::optional<float> value = to_float(text);
    if (!value || !std::isfinite(*value)) return false;
    has_fraction = has_fraction || !to_whole_number(text);
  }
  return has_fraction;
}

/// Records in a row that windows may be of: [begin, end).
struct Segment {
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::vector<Segment> segments_of(const CsvRows& rows, bool by_target) {
  std::vector<Segment> segments;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const bool begins =
        row == 0 || (!rows.groups.empty() && rows.groups[row] != rows.groups[row - 1]) ||
        (by_target && rows.targets[row] != rows.targets[row - 1]) || rows.behind_gaps.contains(row);
    if (begins) segments.push_back({row, row});
    segments.back().end = row + 1;
  }
  return segments;
}

void check_hop(const DataOptions& options) {
  if (options.hop == 0 || options.window > 0) return;
  throw InvalidArgument("--hop: expected --window with it, found none");
}

/// The examples of one file.
class CsvExamples {
 public:
  CsvExamples(std::string file, const CsvRows& rows, const DataOptions& options,
              SkippedExamples& skipped)
      : file_(std::move(file)),
        rows_(rows),
        options_(options),
        skipped_(skipped),
        numbers_(are_numbers(rows, options)),
        classes_(options.class_names, options.more_test_classes) {}

  LoadedData read(std::string name) {
    std::uint32_t segment_number = 0;
    GroupNumbers groups;
    for (const Segment& segment : segments_of(rows_, !numbers_)) {
      for (const std::size_t start : window_starts(segment.begin, segment.end, options_)) {
        if (!add(start)) continue;
        lines_.push_back(static_cast<std::uint32_t>(rows_.lines[start]));
        groups_.push_back(rows_.groups.empty() ? segment_number : groups.of(rows_.groups[start]));
      }
      ++segment_number;
    }
    if (groups_.empty()) {
      throw FormatError(
          fmt::format("{}: expected {} records in a row of one group and class, which a window is "
                      "of, found none",
                      file_, options_.window));
    }
    // Single records that no group holds together may be divided.
    if (options_.window == 0 && rows_.groups.empty()) groups_.clear();
    LoadedData data{
        .train =
            dataset(std::move(name)).with_example_names(names_by_line(file_, std::move(lines_))),
        .groups = std::move(groups_),
        .resolved = options_};
    if (!weights_.empty()) {
      data.train = std::move(data.train).with_sample_weights(std::move(weights_));
    }
    data.resolved->weight_column.clear();
    data.resolved->columns = rows_.columns;
    data.resolved->target_column = rows_.target_column;
    data.resolved->numbers = numbers_;
    data.resolved->ignored = rows_.unused;
    return data;
  }

 private:
  std::size_t window() const { return std::max<std::size_t>(options_.window, 1); }

  /// False where the target is no number, and the example is left out.
  bool add(std::size_t start) {
    const std::size_t values = window() * rows_.features;
    check_data_bytes(file_, groups_.size() + 1, {window(), rows_.features, sizeof(float)},
                     options_);
    const std::size_t last = start + window() - 1;
    const std::string where = fmt::format("{}, line {}", file_, rows_.lines[last]);
    if (!numbers_) {
      classes_.add(rows_.targets[last], where);
    } else if (!skipped_.take([&] { add_targets(last, where); })) {
      return false;
    }
    const auto from = rows_.values.begin() + static_cast<std::ptrdiff_t>(start * rows_.features);
    values_.insert(values_.end(), from, from + static_cast<std::ptrdiff_t>(values));
    if (!rows_.weights.empty()) weights_.push_back(rows_.weights[last]);
    return true;
  }

  void add_targets(std::size_t row, const std::string& where) {
    std::vector<float> numbers;
    const std::size_t count = rows_.targets_of_each;
    for (const std::string& text : std::span(rows_.targets).subspan(row * count, count)) {
      numbers.push_back(target(text, where));
    }
    targets_.insert(targets_.end(), numbers.begin(), numbers.end());
  }

  static float target(const std::string& text, const std::string& where) {
    const std::optional<float> value = to_float(text);
    if (value && std::isfinite(*value)) return *value;
    throw FormatError(fmt::format("{}: expected a finite number as the target, found '{}'", where,
                                  printable(text)));
  }

  Dataset dataset(std::string name) {
    const auto features = static_cast<Index>(rows_.features);
    const Shape shape = options_.window > 0 ? Shape{static_cast<Index>(options_.window), features}
                                            : Shape{features};
    if (!numbers_) {
      const std::vector<std::string> names = classes_.names();
      return Dataset::from_floats(std::move(name), shape, std::move(values_), classes_.labels(),
                                  static_cast<int>(names.size()))
          .with_class_names(names);
    }
    const std::size_t count = targets_.size() / rows_.targets_of_each;
    const auto of_each = static_cast<Index>(rows_.targets_of_each);
    return Dataset::from_floats(std::move(name), shape, std::move(values_), Labels(count, 0), 1)
        .with_targets(Tensor::from({static_cast<Index>(count), of_each}, targets_));
  }

  std::string file_;
  const CsvRows& rows_;
  const DataOptions& options_;
  SkippedExamples& skipped_;
  bool numbers_;
  ClassNames classes_;
  std::vector<float> values_;
  std::vector<float> targets_;
  std::vector<float> weights_;
  Groups groups_;
  /// On which each example begins.
  std::vector<std::uint32_t> lines_;
};

/// One part of a folder of files.
struct FolderPart {
  Dataset set;
  Groups groups;
};

/// The columns of the first file that could be read.
struct FolderColumns {
  std::string file;
  std::vector<std::string> features;
  std::vector<std::string> unused;
};

/// Reads a file, whose columns are found by the names of the first one's.
CsvRows read_columns(const fs::path& file, const FolderColumns& columns,
                     const DataOptions& options) {
  DataOptions how = options;
  if (!columns.features.empty()) {
    how.columns = columns.features;
    how.ignored.clear();
  }
  // A sequence of which a record cannot be read is left out as a whole.
  SkippedExamples none(0);
  CsvRows rows = read_csv_rows(file, CsvUse::sequence, how, none);
  if (!columns.features.empty() && options.columns.empty()) {
    require_known_columns(file.string(), rows.unused, columns.unused, columns.file);
  }
  return rows;
}

FolderPart read_part(const fs::path& folder, const std::vector<ClassFile>& files,
                     const std::vector<std::string>& known, FolderColumns& columns,
                     const DataOptions& options, SkippedExamples& skipped) {
  DataOptions lengths = options;
  if (options.window > 0) lengths.length = options.window;
  std::optional<SequenceSet> set;
  FolderPart part;
  const Groups groups = groups_of(files);
  std::vector<fs::path> names;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const ClassFile& file = files[i];
    const std::string name = file.path.string();
    CsvRows rows;
    if (!skipped.take([&] { rows = read_columns(file.path, columns, options); })) continue;
    if (columns.features.empty()) columns = {name, rows.columns, rows.unused};
    if (!set) set.emplace(folder.string(), rows.features, lengths, known);
    const std::size_t steps = options.window > 0 ? options.window : rows.size();
    std::vector<std::size_t> starts = {0};
    if (options.window > 0) starts = window_starts(0, rows.size(), options);
    for (const std::size_t start : starts) {
      set->add(std::span(rows.values).subspan(start * rows.features, steps * rows.features),
               file.class_name, name);
      part.groups.push_back(groups[i]);
      const std::string line = fmt::format(", line {}", rows.lines[start]);
      names.emplace_back(options.window > 0 ? name + line : name);
    }
  }
  require_read(folder.string(), set ? 1 : 0);
  part.set = std::move(set)
                 .value()
                 .to_dataset(set_name(folder))
                 .with_example_names(names_of_files(folder, names));
  return part;
}

}  // namespace

std::string numbers_hint(const Dataset& data) {
  constexpr std::size_t kFewClasses = 20;
  const auto is_number = [](const std::string& name) { return to_whole_number(name).has_value(); };
  const std::vector<std::string>& names = data.class_names();
  if (names.size() <= kFewClasses || !std::ranges::all_of(names, is_number)) return "";
  return fmt::format("; the {} classes are whole numbers, which --numbers learns as numbers",
                     names.size());
}

void require_known_columns(const std::string& file, const std::vector<std::string>& unused,
                           const std::vector<std::string>& known, const std::string& as_in) {
  const std::set<std::string_view> names(known.begin(), known.end());
  for (const std::string& name : unused) {
    if (names.contains(name)) continue;
    throw FormatError(
        fmt::format("{}: expected the columns of {}, found another one, '{}'; choose columns by "
                    "--columns if it is to be left out",
                    file, as_in, printable(name)));
  }
}

LoadedData load_csv_data(const fs::path& file, const DataOptions& options) {
  check_hop(options);
  SkippedExamples skipped(options.skip_bad);
  const CsvRows rows = read_csv_rows(file, CsvUse::training, options, skipped);
  LoadedData data = CsvExamples(file.string(), rows, options, skipped).read(set_name(file));
  data.skipped = skipped.texts();
  return data;
}

bool is_csv_name(std::string_view name) {
  std::string ending = lower_case(name);
  if (ending.ends_with(".gz")) ending.resize(ending.size() - 3);
  return std::ranges::any_of(csv_endings(),
                             [&](std::string_view one) { return ending.ends_with(one); });
}

bool is_csv_folder(const fs::path& folder) { return holds_files(folder, csv_endings()); }

LoadedData load_csv_folder(const fs::path& folder, const DataOptions& options) {
  check_hop(options);
  const ClassFiles files = list_class_files(folder, csv_endings(), options);
  SkippedExamples skipped(options.skip_bad);
  FolderColumns columns;
  FolderPart train = read_part(folder, files.train, options.class_names, columns, options, skipped);
  LoadedData data{
      .train = std::move(train.set), .groups = std::move(train.groups), .resolved = options};
  require_each_class(folder, class_names_in(files.train), data.train);
  data.resolved->columns = columns.features;
  data.resolved->ignored = columns.unused;
  if (options.window == 0) {
    data.resolved->length = static_cast<std::size_t>(data.train.example_shape()[0]);
  }
  const auto read = [&](const std::vector<ClassFile>& part) {
    return read_part(folder, part, data.train.class_names(), columns, options, skipped).set;
  };
  if (!files.test.empty()) data.test = read(files.test);
  if (!files.validation.empty()) data.validation = read(files.validation);
  data.skipped = skipped.texts();
  return data;
}

}  // namespace octet
