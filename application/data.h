#pragma once

#include <octet/core/error.h>
#include <octet/deploy/example_metadata.h>
#include <octet/layers/model.h>
#include <octet/train/data/data_description.h>
#include <octet/train/data/dataset.h>
#include <octet/train/data/normalization.h>

#include <map>
#include <optional>
#include <string>

#include "options.h"

namespace octet::application {

/// Calls read(), which reads what a file says. A FormatError gets the file's name in front.
template <class Read>
auto in_file(const std::string& file, const Read& read) {
  try {
    return read();
  } catch (const FormatError& error) {
    throw FormatError(file + ": " + error.what());
  }
}

/// Test examples, and which ones of the data they are.
struct TestData {
  Dataset examples;
  /// Whether they are those that the training of a model kept for its test by --split.
  bool is_trained_split = false;
  /// What to tell the user of them: how training divided its data; empty where it did not.
  std::string text{};
};

/// load_data() and load_test_data() of what a command line names. Throw command_line::UsageError
/// for options that do not go with the data.
DataSplit load(const std::string& path, const DataOptions& options);
TestData load_test(const std::string& path, const DataOptions& options);

/// The test part of data that were read with `options`, and what to say of it where the training
/// of a model divided its data.
TestData test_of(DataSplit data, const DataOptions& options);

/// The data, once they are found to suit the options. Throws command_line::UsageError for options
/// that need examples of one input with a class label each, or of one input and one output, where
/// there are others, and for options that change a mask of steps.
DataSplit suitable(DataSplit data, const Options& options);

/// The normalization of --mean and --std, or that of --normalize, measured on the training
/// examples. Throws command_line::UsageError where the numbers do not fit the examples or change a
/// mask of steps, and for features of a front end.
Normalization normalization_for(const DataSplit& data, const Options& options);

/// The data normalized, and their classes named by --class-names.
DataSplit prepared(DataSplit data, const Options& options, const Normalization& normalization);

/// The metadata that exported models carry of the examples that they were trained on: names of
/// classes, how files became examples, normalization, front end. The network may have more output
/// values than the data has classes, or a single one for one class: their names are the numbers.
std::map<std::string, std::string> example_metadata(const DataSplit& data,
                                                    const Normalization& normalization,
                                                    const Model& network);

/// How files became the examples that a model was trained on; none where it does not say. Throws
/// FormatError for a damaged entry.
std::optional<DataDescription> description_in(const IntegerModel& model);

/// Which options of a model's training hold for further data.
enum class TakenOver {
  all,
  features  ///< not those that say what targets are: the model gets other ones
};

/// The options for data that the trained model of `file` is run on: see with_description(). Those
/// given, where the model was trained on data of another format, or does not say. Throws
/// command_line::UsageError where both say different things, FormatError for damaged metadata.
DataOptions options_for(const std::string& file, const IntegerModel& model, const std::string& path,
                        const DataOptions& given, TakenOver what = TakenOver::all);

/// The examples as the model of `file` takes them: normalized, and with themselves as targets,
/// where it says so. Throws FormatError for damaged metadata and for a normalization that does not
/// fit the examples; InvalidArgument as reconstructing().
Dataset prepared_for(const std::string& file, const IntegerModel& model, Dataset data);

/// Takes the normalization, and the task of reconstruction, that the model of Options::file was
/// trained with: `model` says them, and `network` has its layers. Throws command_line::UsageError
/// for another normalization, and for any of a model that was trained without; FormatError as
/// prepared_for().
void take_preparation(const IntegerModel& model, const Model& network, Options& options);

/// Describes the examples to the user: how many, their shapes and targets, the task, given or
/// found, and whether those that are scored on are those that are trained on.
std::string text_of(const DataSplit& data, std::optional<Task> task);

}  // namespace octet::application
