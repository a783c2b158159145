#pragma once

#include <octet/deploy/example_metadata.h>
#include <octet/train/data/data_options.h>

#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// How load_data() made examples of files: by it a program makes an example of the same kind of a
/// further file. Exported models carry its text in their metadata, as kDataKey.
struct DataDescription {
  /// The name of the format, one of data_formats().
  std::string format;
  /// The shape of an example.
  Shape shape{};
  /// Options that examples depend on; see example_options().
  DataOptions options{};
};

/// The names of the options that decide what becomes of a file, as command lines have them without
/// the dashes: not those that say where files are, or which of them are for training.
std::vector<std::string_view> example_options();

/// The description as a JSON object: "format", "shape", the options that are not the default, and
/// "split" where DataOptions::trained_split says of one.
std::string to_text(const DataDescription& description);

/// Reads to_text(). Throws FormatError for another text, for an option of another kind or outside
/// range_of_option(), and for a shape of no values or of more than 2^40.
DataDescription parse_data_description(std::string_view text);

/// The options for reading further data for a model: those given, and those of the description for
/// what they leave out, with how the training divided its examples. Throws InvalidArgument, which
/// names the option, where one that is given (given_options()) differs from that of the training.
DataOptions with_description(const DataOptions& given, const DataDescription& description);

}  // namespace octet
