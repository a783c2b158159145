#pragma once

#include <octet/runtime/integer_model.h>
#include <octet/train/data/dataset.h>
#include <octet/train/data/npy.h>

#include <string>
#include <utility>
#include <vector>

namespace octet::tools {

/// The arrays of an .npz file by their names.
using NamedArrays = std::vector<std::pair<std::string, NpyArray>>;

/// The names of arrays, with commas between.
std::string names_in(const NamedArrays& arrays);

/// Whether a file of data is a zip of arrays, as numpy.savez() writes it, and no folder.
bool is_npz(const std::string& file);

/// The examples in an .npz file for a model: an array for each of its inputs and, as targets, for
/// each of its outputs, named after them. Features of uint8 are x = byte / 255, of any other type
/// the numbers. Targets of an integer type and one axis are class labels, and masks of an integer
/// type, [n, ...] for an output [n, ..., classes], the class of each place; others are tensors,
/// used as they are, [n] as [n, 1]. Throws as read_npz(), and FormatError for an array that is
/// missing, one that is named after neither, numbers of examples that differ, labels of no class,
/// and examples of another size than the model's or with axes in another order.
Dataset read_npz_data(const std::string& file, const IntegerModel& model);

/// The features in an .npz file for a model of one input: the array that is named after the input,
/// or the only one. Throws as read_npz(), and FormatError where there is neither.
NpyArray read_npz_features(const std::string& file, const IntegerModel& model);

/// Whether a file of data is an .npz file for read_npz_data(): not one of x
/// and y or of x_train, unless the model names its inputs and outputs so. Throws as
/// npz_array_names().
bool has_named_arrays(const std::string& file, const IntegerModel& model);

}  // namespace octet::tools
