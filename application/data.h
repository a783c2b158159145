#pragma once

#include <octet/train/data/dataset.h>

#include "options.h"

namespace octet::application {

/// The data as the options want it: pixels scaled by --mean and --std, classes named by
/// --class-names. Throws command_line::UsageError where their numbers do not fit the images.
DataSplit prepared(DataSplit data, const Options& options);

}  // namespace octet::application
