#pragma once

#include <octet/application/data.h>
#include <octet/layers/model.h>
#include <octet/runtime/integer_model.h>
#include <octet/train/data/data_options.h>
#include <octet/train/data/dataset.h>
#include <octet/train/data/npy.h>

#include <string>

namespace octet::tools {

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

/// The examples of a file for training and of DataOptions::test_data for scoring, or of the first
/// one for both; with DataOptions::split, or a training's, the parts that divide() makes of it.
/// Throws as read_npz_data() and divide(), UsageError for other options, and FormatError where an
/// output has class labels in one file and tensors in the other.
DataSplit read_npz_split(const std::string& train, const DataOptions& options,
                         const IntegerModel& model);

/// Whether a file of data is an .npz file for read_npz_data(): not one for load_examples_at(), of x
/// and y or of x_train, unless the model names its inputs and outputs so. Throws as
/// npz_array_names().
bool has_named_arrays(const std::string& file, const IntegerModel& model);

/// The examples of a path: those of load_data(); or, of an .npz file, the arrays x and y, or
/// x_train, y_train, x_test and y_test, as a folder of .npy files of these names has them, with w
/// or w_train for weights. Throws as application::load(), as read_npz_arrays(), UsageError for
/// options that such arrays do not take, and FormatError for an array that is missing, further
/// ones, and parts of unlike shapes.
DataSplit load_examples_at(const std::string& path, const DataOptions& options);

/// The examples of a path for the trained model of `file`: of an .npz file named arrays or those of
/// load_examples_at(), else those of application::load() with the options of its training. Throws
/// as these and application::options_for().
DataSplit load_for(const std::string& file, const IntegerModel& model, const std::string& path,
                   const DataOptions& options,
                   application::TakenOver what = application::TakenOver::all);

/// The test examples of load_for(), which knows those that the model's training kept.
application::TestData load_test_for(const std::string& file, const IntegerModel& model,
                                    const std::string& path, const DataOptions& options);

/// Throws UsageError, which asks for an .npz file instead of `data`, where the model of `file` has
/// several inputs or outputs.
void require_one_input(const Model& model, const std::string& file, const std::string& data);

}  // namespace octet::tools
