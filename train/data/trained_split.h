#pragma once

#include <octet/train/data/data_options.h>
#include <octet/train/data/dataset.h>
#include <octet/train/data/split_data.h>

#include <optional>
#include <string>
#include <vector>

namespace octet {

/// Examples in two parts, and what divided them.
struct DividedExamples {
  Dataset train{};
  Dataset test{};
  TrainedSplit split{};
  /// Whether that is DataOptions::trained_split: the parts are those of the training of a model.
  bool is_trained_split = false;
  /// What is wrong with each example that was left out.
  std::vector<std::string> skipped{};
};

/// Divides examples by DataOptions::split, or as DataOptions::trained_split did where they are the
/// same ones. None where the options say neither. Up to DataOptions::skip_bad examples that are the
/// only ones of their class are left out, of which one part would have none; their classes stay.
/// Throws as split_data(), and InvalidArgument for a split other than that of the training.
std::optional<DividedExamples> divide(const Dataset& data, const Groups& groups,
                                      const DataOptions& options);

}  // namespace octet
