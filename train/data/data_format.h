#pragma once

#include <octet/train/data/data_options.h>
#include <octet/train/data/dataset.h>
#include <octet/train/data/example_kind.h>
#include <octet/train/data/split_data.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// What a format reads.
struct LoadedData {
  Dataset train;
  /// Empty where the data have no test part.
  Dataset test{};
  /// Empty where the data have none beside a test part.
  Dataset validation{};
  /// What is wrong with each example that was left out, see SkippedExamples.
  std::vector<std::string> skipped{};
  /// The groups of the examples of `train`.
  Groups groups{};
  /// The options with what the data said where they left something open, so that further files
  /// become examples of the same kind; none: those that were given.
  std::optional<DataOptions> resolved{};
};

/// A format that load_data() reads.
struct DataFormat {
  std::string_view name;
  /// What a path of this format looks like, for the error that lists all formats.
  std::string_view looks;
  /// Names of the DataOptions that it takes.
  std::vector<std::string_view> takes;
  /// Looks at names alone. Throws nothing but std::bad_alloc.
  bool (*recognizes)(const std::filesystem::path& path);
  /// What examples of two axes are.
  ExampleKind two_axes = ExampleKind::matrix;
  LoadedData (*load)(const std::filesystem::path& path, const DataOptions& options);
  /// Whether its files say their sample rate, and their loader makes features of sounds.
  bool has_rate = false;
  /// Reads the test part alone; null where it is in no files of its own.
  Dataset (*load_test)(const std::filesystem::path& path, const DataOptions& options) = nullptr;
};

}  // namespace octet
