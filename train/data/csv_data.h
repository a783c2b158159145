#pragma once

#include <octet/train/data/data_format.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// Reads examples from a CSV file as read_csv_rows() does: a record each, [features]; or with
/// DataOptions::window so many records in a row, [window, features], the next window beginning
/// DataOptions::hop records later, or behind the last. Windows cross no change of the group, and
/// none of a class; what is left at an end is no window.
///
/// Targets are numbers, [n, columns], those of a window being the last of its records', if there
/// are several columns of them, if all are numbers and one is no whole number and there are no
/// DataOptions::class_names, or if DataOptions::numbers is set; else they are classes, which keep
/// their texts as names and are sorted, whole numbers by value. Examples of one group, or windows
/// of records in a row, are one group of LoadedData. Throws as read_csv_rows(), and FormatError
/// where no window is full or a target is no number.
LoadedData load_csv_data(const std::filesystem::path& file, const DataOptions& options = {});

/// Reads CSV files, each of the class that list_class_files() gives it. All columns but the ignored
/// ones are features, in the order of the first file, by whose names those of other files are
/// found, and a file is an example [records, features], which DataOptions::length brings to one
/// length; or with DataOptions::window it gives windows, which are one group. Throws as
/// list_class_files() and load_csv_data(), and FormatError for files of other columns.
LoadedData load_csv_folder(const std::filesystem::path& folder, const DataOptions& options = {});

/// "; the 40 classes are whole numbers, which --numbers learns as numbers", where there are more
/// than 20 of such; else empty.
std::string numbers_hint(const Dataset& data);

/// Throws FormatError for a column of `file` that is read as nothing, and that the file `as_in`
/// does not have as one that is `known` to be read as nothing.
void require_known_columns(const std::string& file, const std::vector<std::string>& unused,
                           const std::vector<std::string>& known, const std::string& as_in);

/// Whether a name ends in .csv or .tsv, also in front of .gz.
bool is_csv_name(std::string_view name);

/// Whether load_csv_folder() finds files there.
bool is_csv_folder(const std::filesystem::path& folder);

}  // namespace octet
