#pragma once

#include <octet/core/shape.h>
#include <octet/train/data/dataset.h>

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace octet {

/// A column of a CSV file: its position from 0, or from the end where it is negative; or its name
/// in the header.
using CsvColumn = std::variant<Index, std::string>;

/// What an example's target is.
enum class CsvTargets {
  labels,   ///< A class label, from the target column.
  numbers,  ///< A number, from the target column; the targets are [n, 1].
  features  ///< The example itself, for an autoencoder; there is no target column.
};

struct CsvOptions {
  /// Whether the first record holds the columns' names.
  bool header = true;
  char separator = ',';
  CsvTargets targets = CsvTargets::labels;
  /// The column of labels or numbers.
  CsvColumn target_column = Index{-1};
  /// What the labels are called in the file, in the order of their classes. Empty where they are
  /// integers in [0, classes).
  std::vector<std::string> class_names{};
  /// The number of classes where labels are integers; 0 for the largest label plus 1. Give it where
  /// a test set may lack the last class.
  int classes = 0;
  /// Columns that are not read, such as times.
  std::vector<CsvColumn> ignored{};
};

/// Reads examples from a CSV file (RFC 4180), plain or gzipped, one a record. All columns but the
/// target and the ignored ones are features, in the order of the file; the examples have shape
/// [columns]. Numbers are decimal, with a point, each the float that is nearest to it, whatever the
/// locale; spaces around them are skipped, and so are empty lines. The set is named after the file.
/// Throws IoError where the file cannot be read; FormatError that names line (from 1) and column
/// (from 0) for a field that is no finite number or no label, for a record of another length, for
/// quotes out of place, for more than 2^20 columns, a record of more than 16 MiB or a gzipped file
/// of more than 1 GiB; InvalidArgument for options that contradict each other or the header.
Dataset load_csv(const std::filesystem::path& path, const CsvOptions& options = {});

}  // namespace octet
