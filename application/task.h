#pragma once

#include <octet/layers/activation_function.h>
#include <octet/layers/model.h>
#include <octet/train/data/dataset.h>

#include <optional>
#include <string>
#include <utility>

#include "options.h"

namespace octet::application {

/// The task that the targets of an output are of, by their kind, shape and the values of the first
/// hundred.
Task task_of(const Targets& targets);
/// The task of examples, which is reconstruction where their targets are what they are. None where
/// they have several outputs.
std::optional<Task> task_of(const Dataset& data);

/// The task in words.
std::string task_text(const Dataset& data);

/// The examples with themselves as targets, each of shape `target`. Throws InvalidArgument for
/// another number of values, several inputs, and a set with a reader.
Dataset reconstructing(const Dataset& data, const Shape& target);

/// The data with the targets of Options::task. Those of a reconstruction are the examples
/// themselves: rows of numbers for a network by name, of the shape of its output for a FILE. Throws
/// command_line::UsageError where the task needs other targets than the data have.
DataSplit with_task(DataSplit data, const Options& options);

/// How many outputs a network for such targets has, and what they end in. Throws
/// command_line::UsageError for several outputs and targets of places, which no network by name
/// has.
std::pair<Index, Activation> network_end(const Dataset& data);

}  // namespace octet::application
