#include <fmt/format.h>
#include <fmt/ranges.h>
#include <octet/core/error.h>
#include <octet/core/log.h>
#include <octet/core/printable.h>
#include <octet/train/data/csv_data.h>
#include <octet/train/data/data_description.h>
#include <octet/train/data/data_formats.h>
#include <octet/train/data/load_data.h>
#include <octet/train/data/names_in.h>
#include <octet/train/data/signal_features.h>
#include <octet/train/data/skipped_examples.h>
#include <octet/train/data/trained_split.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace octet {
namespace {

namespace fs = std::filesystem;

/// What is at `path`, for an error.
std::string found_at(const fs::path& path) {
  constexpr std::size_t kMostNames = 5;
  std::error_code failure;
  if (!fs::is_directory(path, failure)) {
    const auto recognizes = [&](const DataFormat& format) {
      return format.recognizes(path.parent_path());
    };
    return std::ranges::any_of(data_formats(), recognizes)
               ? "a file of another name, in a folder of such data: if it is a part of that, give "
                 "the folder that holds it"
               : "a file of another name";
  }
  std::vector<std::string> names = names_in(path);
  if (names.empty()) return "an empty folder";
  const std::size_t count = names.size();
  names.resize(std::min(count, kMostNames));
  return printable(
      fmt::format("a folder with {}{}", fmt::join(names, ", "), count > kMostNames ? ", ..." : ""));
}

const DataFormat& format_of(const fs::path& path) {
  const DataFormat* found = nullptr;
  std::string looks;
  for (const DataFormat& format : data_formats()) {
    looks += fmt::format("{}{}", looks.empty() ? "" : "; ", format.looks);
    if (!format.recognizes(path)) continue;
    if (found != nullptr) {
      throw IoError(
          fmt::format("load_data: '{}' could be {} ({}) and {} ({}); leave one of them there",
                      path.string(), found->name, found->looks, format.name, format.looks));
    }
    found = &format;
  }
  if (found != nullptr) return *found;
  std::error_code failure;
  if (!fs::exists(path, failure)) {
    throw IoError(fmt::format(
        "load_data: '{0}' does not exist. To get MNIST: scripts/get_mnist.sh {0}", path.string()));
  }
  throw IoError(fmt::format(
      "load_data: '{0}' holds no data that Octet reads; expected {1}; or, for "
      "commands, an .npz file of arrays; found {2}. To get MNIST: scripts/get_mnist.sh {0}",
      path.string(), looks, found_at(path)));
}

/// Refuses options of other formats.
void check_options(const DataFormat& format, const DataOptions& options) {
  for (const std::string_view name : given_options(options)) {
    if (std::ranges::find(format.takes, name) != format.takes.end()) continue;
    std::set<std::string_view> takers;
    for (const DataFormat& other : data_formats()) {
      if (std::ranges::find(other.takes, name) != other.takes.end()) takers.insert(other.name);
    }
    throw InvalidArgument(fmt::format("load_data: --{} is for data of the format {}, found {}",
                                      name, fmt::join(takers, " or "), format.name));
  }
}

/// Refuses a part that no network of the other part can take.
void check_shapes(const Dataset& train, const Dataset& other, std::string_view part,
                  const fs::path& path) {
  if (other.empty() || other.example_shape() == train.example_shape()) return;
  throw FormatError(fmt::format(
      "load_data: '{}': the {} examples have shape {}, the training examples {}; sequences are "
      "brought to one length by --length",
      path.string(), part, other.example_shape().to_string(), train.example_shape().to_string()));
}

/// Loads data, and puts features in place of signals where that was not done file by file.
LoadedData load(const DataFormat& format, const fs::path& path, const DataOptions& options) {
  require_front_end_options(options, format.has_rate);
  LoadedData data = format.load(path, options);
  if (options.front_end.empty() || format.has_rate) return data;
  DataOptions how = options;
  for (Dataset* part : {&data.train, &data.test, &data.validation}) {
    if (!part->empty()) *part = with_front_end_features(*part, how);
    how.keep_signals = false;
  }
  return data;
}

/// Has `how` find columns by the names that they have in the training data.
void use_columns_of(const DataOptions& training, DataOptions& how) {
  how.columns = training.columns;
  how.target_column = training.target_column;
  how.numbers = training.numbers;
  // What is no feature may be missing, and so may weights, which scores do not need.
  how.ignored.clear();
  how.weight_column.clear();
}

/// The test examples from a path of their own. Those left out are added to `data`.
Dataset other_data(const DataFormat& format, LoadedData& data, const DataOptions& options) {
  const DataFormat& other = format_of(options.test_data);
  if (&other != &format) {
    throw InvalidArgument(
        fmt::format("load_data: --test-data: expected {}, as the training data is, "
                    "found {}",
                    format.looks, other.looks));
  }
  DataOptions how = options;
  how.skip_bad -= data.skipped.size();
  how.keep_signals = false;
  if (!data.train.class_names().empty()) how.class_names = data.train.class_names();
  if (data.resolved && !data.resolved->columns.empty()) use_columns_of(*data.resolved, how);
  // Sounds of both parts have one rate.
  if (format.has_rate && data.resolved) how.sample_rate = data.resolved->sample_rate;
  LoadedData found = load(format, options.test_data, how);
  if (found.resolved && options.columns.empty()) {
    std::vector<std::string> unused = found.resolved->ignored;
    std::erase(unused, options.weight_column);
    require_known_columns(options.test_data.string(), unused, data.resolved->ignored,
                          "the training data");
  }
  data.skipped.insert(data.skipped.end(), found.skipped.begin(), found.skipped.end());
  return found.test.empty() ? std::move(found.train) : std::move(found.test);
}

void check_has_no_test(const LoadedData& data, const DataOptions& options, const fs::path& path) {
  if (data.test.empty()) return;
  for (const auto& [name, is_given] : {std::pair{"test-data", !options.test_data.empty()},
                                       std::pair{"split", options.split != 0}}) {
    if (!is_given) continue;
    throw InvalidArgument(
        fmt::format("load_data: --{}: expected data without a test part, found one in '{}'", name,
                    path.string()));
  }
}

void warn_of(const std::vector<std::string>& skipped, const fs::path& path) {
  if (skipped.empty()) return;
  const std::span first = std::span(skipped).first(std::min(skipped.size(), kMostSkippedNamed));
  log_warn(printable_lines(fmt::format(
      "load_data: '{}': {} examples that cannot be read are left out:\n{}{}", path.string(),
      skipped.size(), fmt::join(first, "\n"), skipped.size() > kMostSkippedNamed ? "\n..." : "")));
}

std::shared_ptr<const DataDescription> description_of(const DataFormat& format,
                                                      const LoadedData& data,
                                                      const DataOptions& options,
                                                      const TrainedSplit& split) {
  DataOptions resolved = data.resolved.value_or(options);
  resolved.trained_split = split;
  resolved.ignored.clear();
  // Further data may lack a class: labels go by the names of the training.
  if (std::ranges::find(format.takes, "class-names") != format.takes.end()) {
    resolved.class_names = data.train.class_names();
  }
  return std::make_shared<const DataDescription>(
      DataDescription{.format = std::string(format.name),
                      .shape = data.train.example_shape(),
                      .options = std::move(resolved)});
}

ExampleKind kind_of_two_axes(const Dataset& data) {
  if (data.description() == nullptr) return ExampleKind::matrix;
  const auto formats = data_formats();
  const auto format = std::ranges::find(formats, data.description()->format, &DataFormat::name);
  return format == formats.end() ? ExampleKind::matrix : format->two_axes;
}

}  // namespace

std::string_view data_format_at(const fs::path& path) { return format_of(path).name; }

DataSplit load_data(const fs::path& path, const DataOptions& options) {
  const DataFormat& format = format_of(path);
  check_options(format, options);
  LoadedData data = load(format, path, options);
  check_has_no_test(data, options, path);
  if (options.split != 0 && !options.test_data.empty()) {
    throw InvalidArgument("load_data: expected --split or --test-data, found both");
  }
  if (data.test.empty() && options.test_data.empty()) {
    DataOptions how = options;
    how.skip_bad -= data.skipped.size();
    if (std::optional<Division> division = divide(data.train, data.groups, how)) {
      DataSplit parts = std::move(division->parts);
      auto description = description_of(format, data, options, division->split);
      parts.train = std::move(parts.train).with_description(std::move(description));
      parts.skipped.insert(parts.skipped.begin(), data.skipped.begin(), data.skipped.end());
      warn_of(parts.skipped, path);
      return parts;
    }
  }
  if (!options.test_data.empty()) data.test = other_data(format, data, options);
  if (data.test.empty()) data.test = data.train;
  check_shapes(data.train, data.test, "test", path);
  check_shapes(data.train, data.validation, "validation", path);
  auto description = description_of(format, data, options, {});
  warn_of(data.skipped, path);
  return {std::move(data.train).with_description(std::move(description)), std::move(data.test),
          std::move(data.validation), std::move(data.skipped)};
}

Dataset load_test_data(const fs::path& path, const DataOptions& options) {
  const DataFormat& format = format_of(path);
  check_options(format, options);
  if (format.load_test != nullptr) return format.load_test(path, options);
  return load_data(path, options).test;
}

ExampleKind example_kind(const Dataset& data) {
  if (!data.front_end().empty()) return ExampleKind::signal;
  switch (data.example_shape().rank()) {
    case 0:
    case 1:
      return ExampleKind::row;
    case 2:
      return kind_of_two_axes(data);
    case 3:
      return ExampleKind::image;
    default:
      return ExampleKind::volume;
  }
}

}  // namespace octet
