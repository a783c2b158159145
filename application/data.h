#pragma once

#include <octet/train/data/dataset.h>

#include <string>

#include "options.h"

namespace octet::application {

/// load_data() and load_test_data() of what a command line names. Throw command_line::UsageError
/// for options that do not go with the data.
DataSplit load(const std::string& path, const DataOptions& options);
Dataset load_test(const std::string& path, const DataOptions& options);

/// The data as the options want it: pixels scaled by --mean and --std, classes named by
/// --class-names. Throws command_line::UsageError where their numbers do not fit the images, and
/// for options that need examples of one input with a class label each where there are others.
DataSplit prepared(DataSplit data, const Options& options);

/// Describes the examples to the user: how many, their shapes and targets, and whether those that
/// are scored on are those that are trained on.
std::string text_of(const DataSplit& data);

}  // namespace octet::application
