#pragma once

#include <octet/train/data/data_options.h>
#include <octet/train/data/skipped_examples.h>

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace octet {

/// The records of a CSV file.
struct CsvRows {
  /// How many columns are features, and their values, row-major.
  std::size_t features = 0;
  std::vector<float> values;
  /// The names of the features.
  std::vector<std::string> columns;
  /// The names of the columns that are read as nothing.
  std::vector<std::string> unused;
  /// The names of the target columns, with commas between; empty without one.
  std::string target_column;
  /// How many there are, and what stands in them, record by record.
  std::size_t targets_of_each = 0;
  std::vector<std::string> targets;
  /// What stands in the group column; none without one.
  std::vector<std::string> groups;
  /// What stands in the weight column; none without one.
  std::vector<float> weights;
  /// The lines on which the records begin, from 1.
  std::vector<std::size_t> lines;
  /// The records in front of which one was left out.
  std::set<std::size_t> behind_gaps{};

  std::size_t size() const { return lines.size(); }
};

/// Purposes that the records of a CSV file are read for.
enum class CsvUse {
  training,   ///< Examples with their targets.
  sequence,   ///< Features alone, of which a command line may choose others.
  prediction  ///< Features alone, those of a model.
};

/// Reads a CSV file (RFC 4180, separated as CsvRecords finds out), plain or gzipped. The first
/// record holds the columns' names if no field of it is a number. Targets are the columns
/// DataOptions::target_column, or the last one; DataOptions::group_column, weight_column and
/// ignored are no features. DataOptions::columns are, in their order, or all others. Without a
/// header columns are named by their numbers from 0. Throws IoError where the file cannot be read;
/// FormatError, which names line and column, for a feature that is no finite number, a weight that
/// is none of 0 or more, an empty target or group, a record of another length, for a column of
/// DataOptions::columns that the file does not have, for features of one name, and as CsvRecords;
/// InvalidArgument for another column that the file does not have, and where the examples take more
/// than DataOptions::max_bytes. Records that `skipped` takes are left out, but for such that break
/// the quotes of the file. CsvUse::prediction reads the group column where the file has one.
CsvRows read_csv_rows(const std::filesystem::path& path, CsvUse use, const DataOptions& options,
                      SkippedExamples& skipped);

/// The first records of the windows of records [begin, end); without a window each record is one.
std::vector<std::size_t> window_starts(std::size_t begin, std::size_t end,
                                       const DataOptions& options);

}  // namespace octet
