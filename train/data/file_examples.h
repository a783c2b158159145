#pragma once

#include <octet/core/tensor.h>
#include <octet/train/data/data_description.h>

#include <filesystem>
#include <string>
#include <vector>

namespace octet {

/// Examples without targets that a file holds.
struct FileExamples {
  /// [n, example...], as Dataset::features() gives them.
  Tensor features;
  /// The file of each example, or its place in the file.
  std::vector<std::string> names;
};

/// Makes examples of a file as load_data() made those that the description is of:
///
/// - a `.jpg`, `.jpeg` or `.png` file is one image, resized to the shape's size, grey for one
/// channel;
/// - a `.wav` file is one sound, cut or padded to the length, turned into features by the front
/// end;
/// - the records of a `.csv` file, or windows of them, are one example each; in the format "CSV
///   folder" without windows the file is one. Columns are found by their names, and a file may have
///   more of them: the target, for one;
/// - a `.npy` file holds one example, or several along its first axis; x = byte / 255.
///
/// Throws IoError where the file cannot be read; FormatError, which names it, for one that is
/// damaged, and for examples of another shape, sample rate or number of channels than the
/// description has; InvalidArgument for another ending and for columns that are missing.
FileExamples read_file_examples(const std::filesystem::path& file,
                                const DataDescription& description);

}  // namespace octet
