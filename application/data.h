#pragma once

#include <octet/deploy/example_metadata.h>
#include <octet/train/data/data_description.h>
#include <octet/train/data/dataset.h>
#include <octet/train/data/normalization.h>

#include <map>
#include <optional>
#include <string>

#include "options.h"

namespace octet::application {

/// load_data() and load_test_data() of what a command line names. Throw command_line::UsageError
/// for options that do not go with the data.
DataSplit load(const std::string& path, const DataOptions& options);
Dataset load_test(const std::string& path, const DataOptions& options);

/// The data, once they are found to suit the options. Throws command_line::UsageError for options
/// that need examples of one input with a class label each, or of one input and one output, where
/// there are others.
DataSplit suitable(DataSplit data, const Options& options);

/// The normalization of --mean and --std, or that of --normalize, measured on the training
/// examples. Throws command_line::UsageError where the numbers do not fit the examples, and for
/// features of a front end.
Normalization normalization_for(const DataSplit& data, const Options& options);

/// The data normalized, and their classes named by --class-names.
DataSplit prepared(DataSplit data, const Options& options, const Normalization& normalization);

/// The metadata that exported models carry of the examples that they were trained on: names of
/// classes, how files became examples, normalization, front end.
std::map<std::string, std::string> example_metadata(const DataSplit& data,
                                                    const Normalization& normalization);

/// How files became the examples that a model was trained on; none where it does not say. Throws
/// FormatError for a damaged entry.
std::optional<DataDescription> description_in(const IntegerModel& model);

/// The options for data that a trained model is run on: see with_description(). Those given, where
/// the model was trained on data of another format, or does not say. Throws
/// command_line::UsageError where both say different things.
DataOptions options_for(const IntegerModel& model, const std::string& path,
                        const DataOptions& given);

/// The examples as the model takes them: normalized where it says so.
Dataset normalized_for(const IntegerModel& model, const Dataset& data);

/// Says in words which task the targets make of the data: loss and scores follow from that.
std::string task_of(const Dataset& data);

/// Describes the examples to the user: how many, their shapes and targets, and whether those that
/// are scored on are those that are trained on.
std::string text_of(const DataSplit& data);

}  // namespace octet::application
