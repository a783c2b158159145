#pragma once

#include <octet/core/shape.h>
#include <octet/core/tensor.h>
#include <octet/train/data/dataset.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace octet {

/// The contents of one .npy file, row-major.
struct NpyArray {
  Shape shape;
  std::variant<std::vector<float>, std::vector<double>, std::vector<std::uint8_t>,
               std::vector<std::int8_t>, std::vector<std::int32_t>, std::vector<std::int64_t>>
      values;

  /// The values as floats, rounded to the nearest (ties to even): int32, int64 and float64 hold
  /// numbers that a float does not.
  Tensor to_tensor() const;
};

/// Reads an array that numpy.save() wrote (NEP 1, versions 1.0, 2.0 and 3.0), plain or gzipped:
/// float32, float64, uint8, int8, int32 or int64; float16 as float32, bool as int8, int16 and
/// uint16 as int32, and uint32 as int64; little-endian or big-endian, in C or Fortran order, of 8
/// axes at most. The header is checked against the size of the file before anything is allocated; a
/// gzipped file may come to 1032 times its size, and 1 GiB. Throws IoError where the file cannot be
/// read, FormatError for another type and where the file holds anything else than its header
/// promises, to the last byte. Pickled objects are never read.
NpyArray read_npy(const std::filesystem::path& path);

/// Reads the features [n, ...] and the targets [n] or [n, ...] of n examples from two files.
/// Features of uint8 are kept as bytes, x = byte / 255, and those of any other type as floats.
/// Targets of an integer type and of one axis are class labels in [0, classes), where 0 classes are
/// as many as the largest label plus 1, at most 1000 or one for each example; give the number where
/// a test set may lack the last class.
/// Other targets are tensors, used as they are; [n] becomes [n, 1]. The set is named after the file
/// of features. Throws as read_npy(), and FormatError where the files do not belong together or a
/// label is outside its range; InvalidArgument for classes below 0.
///
/// Features of more than `most_bytes`, with labels and in a file as find_npy_rows() takes, stay in
/// their file, which must not change: NpyReader reads the rows of each batch.
Dataset load_npy(const std::filesystem::path& features, const std::filesystem::path& targets,
                 int classes = 0, std::size_t most_bytes = std::numeric_limits<std::size_t>::max());

/// load_npy() of arrays that are read already; `features_file` and `targets_file` are what holds
/// them, for errors.
Dataset dataset_of(std::string name, NpyArray features, const NpyArray& targets,
                   const std::string& features_file, const std::string& targets_file,
                   int classes = 0);

/// Throws FormatError, in which `name` is what holds the array [n, ...], for a value that is not
/// finite as a float, with its row.
void require_finite(const NpyArray& array, const std::string& name);

/// Throws FormatError, in which `name` is what holds it, for a value of row `number` of an array
/// that is not finite.
void require_finite_row(std::span<const float> row, const std::string& name, std::size_t number);

/// The weights of n examples, see Dataset::with_sample_weights(), from an array [n] of any type.
/// Throws FormatError, in which `name` is what holds them, for an array of another rank.
std::vector<float> sample_weights_of(const NpyArray& array, const std::string& name);

}  // namespace octet
