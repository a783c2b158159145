#pragma once

#include <octet/core/tensor.h>
#include <octet/train/data/data_description.h>
#include <octet/train/data/npy.h>

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
  /// What is wrong with each record, row or series that is none of them, since it cannot be read.
  std::vector<std::string> unread{};
};

/// Makes examples of a file as load_data() made those that the description is of:
///
/// - a `.jpg`, `.jpeg`, `.png` or `.bmp` file is one image, resized to the shape's size, grey for
/// one channel;
/// - a `.wav` file is one sound, cut or padded to the length, turned into features by the front
/// end;
/// - the records of a `.csv` or `.tsv` file, or windows of them, are one example each; without
/// windows the file
///   is one where the model takes sequences and was not trained on the format "CSV". Columns are
///   found by their names, and a file may have more of them: the target, for one;
/// - a `.npy` file, and an IDX file of images, holds one example, or several along its first axis;
/// x = byte / 255;
/// - the series of a `.ts` file are one example each.
///
/// Records, rows and series that cannot be read are left out where there are others in the file.
/// Where the description has a front end and another format than WAV, what has another shape than
/// the examples is a signal and becomes features: [n, samples, axes] of a `.npy` file.
///
/// Throws IoError where the file cannot be read; FormatError, which names it, for one that is
/// damaged, for examples of another shape, sample rate or number of channels than the description
/// has, and as with_front_end_features(); InvalidArgument for another ending and for columns that
/// are missing.
FileExamples read_file_examples(const std::filesystem::path& file,
                                const DataDescription& description);

/// Makes examples of an array as of a `.npy` file; `name` is what holds it. Throws FormatError as
/// read_file_examples().
FileExamples array_examples(const std::string& name, const NpyArray& array,
                            const DataDescription& description);

}  // namespace octet
