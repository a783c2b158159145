#pragma once

#include <octet/train/data/data_options.h>
#include <octet/train/data/dataset.h>
#include <octet/train/data/example_kind.h>

#include <filesystem>
#include <string_view>

namespace octet {

/// Reads training and test examples, with a description of how files become such examples, from a
/// file or a folder in whatever format it is, which data_formats() lists and which the names in the
/// folder, or the file's own name, tell. Without a test part in the data, both parts are all
/// examples; folders by class may have a validation part too. Up to DataOptions::skip_bad examples
/// that cannot be read are left out, which the log says. Throws IoError where `path` is of no
/// format, or could be of several; InvalidArgument for options that the format does not take; and
/// as the format's reader.
DataSplit load_data(const std::filesystem::path& path, const DataOptions& options = {});

/// The name of the format of a file or a folder, one of data_formats(). Throws as load_data().
std::string_view data_format_at(const std::filesystem::path& path);

/// The kind of a set's examples, by its front end, their shape and the format of its description.
ExampleKind example_kind(const Dataset& data);

/// The test examples of such data alone; of a format that keeps them in files of their own, nothing
/// else is read. Throws as load_data().
Dataset load_test_data(const std::filesystem::path& path, const DataOptions& options = {});

}  // namespace octet
