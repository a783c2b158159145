#pragma once

#include <octet/train/data/data_options.h>
#include <octet/train/data/dataset.h>
#include <octet/train/data/split_data.h>

#include <optional>

namespace octet {

/// Two parts of examples, and the split that they are by.
struct Division {
  TrainedSplit split;
  DataSplit parts;
};

/// Divides examples by DataOptions::split, or as DataOptions::trained_split did where they are the
/// same ones. None where the options say neither. Up to DataOptions::skip_bad examples that are the
/// only ones of their class are left out, of which one part would have none; their classes stay.
/// Throws as split_data(), and InvalidArgument for a split other than that of the training.
std::optional<Division> divide(const Dataset& data, const Groups& groups,
                               const DataOptions& options);

}  // namespace octet
