#pragma once

#include <octet/deploy/example_metadata.h>
#include <octet/train/data/dataset.h>

namespace octet {

/// Whether the last feature of sequences says which steps are theirs: SequencePadding::mask, by
/// Dataset::description().
bool has_step_mask(const Dataset& data);

/// The mean and the deviation of every channel, the last axis of examples: sqrt(mean((x - mean)^2))
/// over all examples and places. A channel of one value has deviation 1. With has_step_mask(),
/// the last feature stays as it is, mean 0 and deviation 1, and steps that it does not count are
/// left out. Throws InvalidArgument for no examples and several inputs, NumericError for values
/// that are not finite.
Normalization measure_normalization(const Dataset& data);

/// Returns the examples normalized. Throws InvalidArgument for lists of another length than 1 or
/// the channels, the last axis of examples, and for a set of several inputs or outputs. Examples
/// that are read are normalized whenever they are.
Dataset normalized(const Dataset& data, const Normalization& normalization);

}  // namespace octet
