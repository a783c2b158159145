#pragma once

#include <octet/application/data.h>
#include <octet/layers/model.h>
#include <octet/runtime/integer_model.h>
#include <octet/train/data/data_options.h>
#include <octet/train/data/dataset.h>

#include <string>

namespace octet::tools {

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
